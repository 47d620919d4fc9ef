/** Transport protocols of a ServicePort, as in Kubernetes. */
export type Protocol = "TCP" | "UDP" | "SCTP";

/** The protocols, in the order of the Kubernetes API documentation. */
export const PROTOCOLS: readonly Protocol[] = ["TCP", "UDP", "SCTP"];

/** True if `text` is exactly one of `PROTOCOLS`. */
export function isProtocol(text: unknown): text is Protocol {
  return PROTOCOLS.includes(text as Protocol);
}

/** A port of a ServiceImport, or of the endpoints of a slice. */
export interface Port {
  /** Empty if unnamed. Ports of imports and slices are matched by name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}
