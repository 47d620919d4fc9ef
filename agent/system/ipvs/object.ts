import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";

/** Identifies a virtual server: where clients connect to. */
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
  /** IP_VS_SVC_F_… of linux/ip_vs.h, without IP_VS_SVC_F_HASHED, which the kernel adds. */
  readonly flags: number;
  /** Seconds of persistence; the kernel stores it for every server. */
  readonly timeout: number;
}

/** A destination of a virtual server, of the same family, by NAT. */
export interface Destination {
  /** As `Address.hex`. */
  readonly address: string;
  readonly port: number;
  /** 0: it keeps its connections and gets no new ones. */
  readonly weight: number;
}

/** A destination as the kernel reports it. */
export interface ListedDestination extends Destination {
  /** False if it is not reached by NAT, or has a threshold: then it is not ours. */
  readonly plain: boolean;
  /** Established connections. */
  readonly active: number;
  /** Connections in any other state. */
  readonly inactive: number;
  /** Connections since it was added. */
  readonly total: bigint;
}

/** One change. */
export type Command =
  | { readonly kind: "new-server" | "set-server"; readonly server: Server }
  | { readonly kind: "delete-server"; readonly server: ServerName }
  | {
      readonly kind: "new-destination" | "set-destination" | "delete-destination";
      readonly server: ServerName;
      readonly destination: Destination;
    };
