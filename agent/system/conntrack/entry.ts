import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";

/** One direction of a connection. */
export interface Tuple {
  /** Addresses as `Address.hex`, of the entry's family. */
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** Zone of this direction alone; absent: that of the entry. */
  readonly zone?: number;
}

/** A conntrack entry of a protocol that ServicePorts have. */
export interface Entry {
  readonly family: Family;
  readonly protocol: Protocol;
  /** Packets from the client, before any translation. */
  readonly original: Tuple;
  /** Packets of the reply as they arrive: from the endpoint, if the connection is DNATed. */
  readonly reply: Tuple;
  /** Differs from a later entry of the same tuples; absent if it was not listed. */
  readonly id?: number;
  /** IPS_SEEN_REPLY: a packet of the reply was seen. */
  readonly replied: boolean;
  /** Present: IPS_ASSURED, a connection that both sides use; it expires later. */
  readonly assured?: true;
  /** Until it expires: each packet begins this time anew. Absent if it was not listed. */
  readonly secondsLeft?: number;
  /** TCP state as in /proc/net/nf_conntrack; absent for other protocols. */
  readonly tcp?: TcpState;
  /** Zone; absent: the default one. */
  readonly zone?: number;
}

/** `enum tcp_conntrack` in order. */
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
