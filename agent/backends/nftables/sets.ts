import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { SetLayout } from "../../system/nftables/element.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { WORDS } from "../nft/chains.ts";

/** The name of our table, in each family. */
export const TABLE = "clusterset-proxy";

/** The last field of a key that has a slot. */
const SERVICE = ["address", "protocol", "port"] as const;

/** The sets whose elements the agent writes. `clients` is written by the rules. */
export const SETS = {
  /** VIP, protocol, port: the number of slots. */
  services: { name: "services", key: SERVICE, value: ["number"] },
  /** With a slot, or with affinity an endpoint's ID: where the endpoint is. */
  endpoints: { name: "endpoints", key: [...SERVICE, "number"], value: ["address", "port"] },
  /** Seconds. */
  affinity: { name: "affinity", key: SERVICE, value: ["number"] },
  /** With a slot: an endpoint's ID. */
  choices: { name: "choices", key: [...SERVICE, "number"], value: ["number"] },
  /** VIPs outside the ClusterSet CIDR. */
  explicit: { name: "explicit", key: ["address"] },
} as const satisfies Record<string, SetLayout>;

/** `ip clusterset-proxy`, as nft names it. */
export function tableOf(family: Family): string {
  return `${family === "IPv4" ? "ip" : "ip6"} ${TABLE}`;
}

/** What the skeleton depends on. */
export interface SkeletonOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
  /**
   * How clients of services with affinity get their endpoint: `remembered`, or by hash alone. nft 1.0.6 aborts at the rule that remembers IPv6 clients (an
   * assertion in netlink_gen_expr); a client then keeps its endpoint as long as the endpoints stay the same.
   */
  readonly affinity: "remembered" | "hashed" | "unsupported";
}

/** Numbers of slots whose chains always exist. */
export const USUAL_SLOTS = 64;

/** Entries of `clients`: a client of an import that does not fit is not remembered. */
const MOST_CLIENTS = 262_144;

/**
 * The sets, by name: type and flags. Numbers have the type of `meta priority`, through which they go. By `type`: after `typeof`, nft
 * 1.0.6 accepts rules with the set in the transaction that creates it, and in no later one.
 */
export function setTypes(family: Family): Readonly<Record<string, string>> {
  const { type: address } = WORDS[family];
  const number = "classid";
  const service = `${address} . inet_proto . inet_service`;
  const clients = `flags dynamic,timeout; size ${MOST_CLIENTS};`;
  return {
    "map services": `type ${service} : ${number};`,
    "map endpoints": `type ${service} . ${number} : ${address} . inet_service;`,
    "map affinity": `type ${service} : ${number};`,
    "map choices": `type ${service} . ${number} : ${number};`,
    "map clients": `type ${address} . ${address} : ${number}; ${clients}`,
    "set explicit": `type ${address};`,
  };
}

/** The expression of a service's key. */
export function serviceOf(family: Family): string {
  return `${WORDS[family].ip} daddr . meta l4proto . th dport`;
}

/** The rule that translates to the endpoint whose slot or ID `meta priority` has. */
export function dnat(family: Family): string {
  return `dnat to ${serviceOf(family)} . meta priority map @endpoints`;
}

/** The ID of the table, its sets, and all chains that depend on flags only: one object. */
export const SKELETON = "skeleton";

/** The ID of a chain that only some services need. */
export function chainId(name: string): string {
  return `chain ${name}`;
}

/** The chain of such an ID; undefined for another ID. */
export function chainOfId(id: string): string | undefined {
  return id.startsWith("chain ") ? id.slice("chain ".length) : undefined;
}

/** The ID of a VIP outside the ClusterSet CIDRs, by its digits. */
export function explicitId(hex: string): string {
  return `explicit ${hex}`;
}

/** The VIP of such an ID; undefined for another ID. */
export function explicitOfId(id: string): string | undefined {
  return id.startsWith("explicit ") ? id.slice("explicit ".length) : undefined;
}

/** The digest of such an object that is as it should be. */
export const WHOLE = "whole";
