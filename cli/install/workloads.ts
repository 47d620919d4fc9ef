/** The namespace of `deploy/base`: agents, controllers, and the Secrets of peers. */
export const INSTALL_NAMESPACE = "clusterset-proxy";

const namespace = INSTALL_NAMESPACE;

/** What runs in every member, in the order of an upgrade. */
export const WORKLOADS = [
  { kind: "Deployment", namespace, name: "clusterset-controller" },
  { kind: "DaemonSet", namespace, name: "clusterset-agent" },
] as const;

/** The Deployment of `deploy/coredns/own`, and its Service. */
export const OWN_DNS = { kind: "Deployment", namespace, name: "clusterset-dns" } as const;

/** An image with another tag; undefined if it is named by a digest, which no version follows from. PURE. */
export function withTag(image: string, tag: string): string | undefined {
  if (image.includes("@")) return undefined;
  // The registry may have a port.
  return `${image.replace(/:[^/:]*$/, "")}:${tag}`;
}
