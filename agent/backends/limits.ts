import { PROTOCOLS, type Protocol } from "../../api/protocol.ts";

/** What this node supports for services of one IP family; a service that needs more is left out. */
export interface Limits {
  /** True if the node can keep a client on one endpoint (ClientIP affinity). */
  readonly affinity: boolean;
  /** Protocols of ports that can be programmed. */
  readonly protocols: ReadonlySet<Protocol>;
}

/** Everything is supported; also assumed if it cannot be tested. */
export const UNLIMITED: Limits = { affinity: true, protocols: new Set(PROTOCOLS) };
