import type { Family } from "../../../api/address.ts";
import type { SetLayout } from "../../system/nftables/element.ts";

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
