import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";

/** What tells one virtual server of the kernel from all others: where clients connect to. */
export interface ServerName {
  readonly family: Family;
  readonly protocol: Protocol;
  /** As `Address.hex`. */
  readonly address: string;
  readonly port: number;
}

/** A virtual server: IPVS calls it a service. */
export interface Server extends ServerName {
  /** `rr`, `lc`, … */
  readonly scheduler: string;
  /** `SERVER_FLAGS` and the scheduler's own; IP_VS_SVC_F_HASHED, which the kernel adds, is left out. */
  readonly flags: number;
  /** Seconds of persistence; the kernel keeps it of any server. */
  readonly timeout: number;
}

/** Bits of `Server.flags` (linux/ip_vs.h). The three of schedulers mean what each scheduler makes of them. */
export const SERVER_FLAGS = {
  persistent: 0x1,
  scheduler1: 0x8,
  scheduler2: 0x10,
  scheduler3: 0x20,
} as const;

/** A destination of a virtual server, of the same family. Connections are led there by NAT. */
export interface Destination {
  /** As `Address.hex`. */
  readonly address: string;
  readonly port: number;
  /** 0: it keeps what it has, and gets nothing new. */
  readonly weight: number;
}

/** What the kernel says of a destination. */
export interface StandingDestination extends Destination {
  /** False if it is not NAT that leads there, or a threshold is set: nothing of ours is like that. */
  readonly plain: boolean;
  /** Connections that are established. */
  readonly active: number;
  /** Others: being made, or ended and not forgotten yet. */
  readonly inactive: number;
  /** Connections that it has been given since it is there. */
  readonly total: bigint;
}

/** One change, in the order in which the kernel is to make it. */
export type Command =
  | { readonly kind: "new-server" | "set-server"; readonly server: Server }
  | { readonly kind: "delete-server"; readonly server: ServerName }
  | {
      readonly kind: "new-destination" | "set-destination" | "delete-destination";
      readonly server: ServerName;
      readonly destination: Destination;
    };
