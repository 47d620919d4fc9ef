import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";

/** One direction of a connection: what its packets look like. */
export interface Tuple {
  /** Addresses as `Address.hex`, of the entry's family. */
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** Conntrack zone of this direction alone; absent means that of the entry. */
  readonly zone?: number;
}

/** An entry of the kernel's connection tracking table, of a protocol that ServicePorts have. */
export interface Entry {
  readonly family: Family;
  readonly protocol: Protocol;
  /** Packets from the client, before any translation. */
  readonly original: Tuple;
  /** Packets in answer, as they arrive: from the endpoint, if the connection was translated. */
  readonly reply: Tuple;
  /** Told apart by this from a later entry of the same tuples; absent if whoever listed it does not say. */
  readonly id?: number;
  /** True once a packet has come back (IPS_SEEN_REPLY). */
  readonly replied: boolean;
  /** State of a TCP connection, as /proc/net/nf_conntrack spells it; absent for other protocols. */
  readonly tcp?: TcpState;
  /** Conntrack zone; absent means the default one. */
  readonly zone?: number;
}

/** `enum tcp_conntrack`, in its order. */
export const TCP_STATES = [
  "NONE",
  "SYN_SENT",
  "SYN_RECV",
  "ESTABLISHED",
  "FIN_WAIT",
  "CLOSE_WAIT",
  "LAST_ACK",
  "TIME_WAIT",
  "CLOSE",
  "SYN_SENT2",
] as const;
/** One of `TCP_STATES`. */
export type TcpState = (typeof TCP_STATES)[number];
