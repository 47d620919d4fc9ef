import { INSTALL_NAMESPACE } from "../install-namespace.ts";

const namespace = INSTALL_NAMESPACE;

/** What runs in every member, in the order of an upgrade. */
export const WORKLOADS = [
  { kind: "Deployment", namespace, name: "clusterset-controller" },
  { kind: "DaemonSet", namespace, name: "clusterset-agent" },
] as const;
