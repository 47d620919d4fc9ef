import type { Address } from "../../api/address.ts";
import { address } from "../generators/facts.ts";
import { CERTAIN, type Chance } from "./chance.ts";
import type { RecentMemory } from "./recent-memory.ts";

/** A packet as a node receives it: from a pod (or from elsewhere) to be forwarded, or from the node itself. */
export interface Packet {
  readonly from: "pod" | "host";
  readonly source: string;
  readonly destination: string;
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  /** Its state in conntrack; NEW by default. */
  readonly state?: "NEW" | "ESTABLISHED" | "INVALID";
  /** ESTABLISHED: where the connection was DNATed to, `address:port`; absent if it was not. */
  readonly boundTo?: { readonly address: string; readonly port: number };
}

/** A packet on its way through the chains, with all selections and changes so far. */
export interface Journey {
  readonly chance: Chance;
  readonly state: "NEW" | "ESTABLISHED" | "INVALID";
  readonly protocol: string;
  readonly source: Address;
  readonly destination: Address;
  readonly port: number;
  /** The original destination of the connection; absent without a conntrack entry. */
  readonly original?: Address;
  readonly translated: boolean;
  readonly masqueraded: boolean;
  readonly memory: RecentMemory;
  /** Rules evaluated so far, matching or not: the cost of a first packet. */
  readonly asked: number;
  /** Every rule that matched, as iptables-save prints it. */
  readonly rules: readonly string[];
}

/** The start of a journey. */
export function depart(packet: Packet, memory: RecentMemory): Journey {
  const state = packet.state ?? "NEW";
  const destination = address(packet.destination);
  const { boundTo } = packet;
  if (boundTo && state !== "ESTABLISHED") throw new Error("only an established packet is bound");
  return {
    chance: CERTAIN,
    state,
    protocol: packet.protocol,
    source: address(packet.source),
    destination: boundTo ? address(boundTo.address) : destination,
    port: boundTo?.port ?? packet.port,
    ...(state !== "INVALID" && { original: destination }),
    translated: boundTo !== undefined,
    masqueraded: false,
    memory,
    asked: 0,
    rules: [],
  };
}
