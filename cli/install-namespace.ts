/** The namespace of `deploy/base`: agents, controllers, and the Secrets of peers. */
export const INSTALL_NAMESPACE = "clusterset-proxy";
