import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { MasqueradePolicy } from "../backend.ts";
import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/chains.ts";
import { hairpinRules, policyRules } from "../nft/policy-rules.ts";

/** What the skeleton depends on. */
export interface SkeletonOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
  /**
   * True if clients with affinity are remembered. nft 1.0.6 aborts at the rule for IPv6 (an assertion in netlink_gen_expr); a client then keeps its
   * endpoint as long as the endpoints stay the same.
   */
  readonly remembers: boolean;
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
    "map picks": `type ${number} : verdict;`,
    "map hashes": `type ${number} : verdict;`,
    "map timeouts": `type ${number} : verdict;`,
    "set explicit": `type ${address};`,
  };
}

/**
 * The chains that depend on flags only. The first packet of a connection to a VIP takes them as follows; no later packet does.
 *
 * - dispatch: `services` gives the number of slots, `picks` the chain of that number. With affinity, `timeouts` comes first.
 * - pick-N: one of N slots at random.
 * - translate: DNAT to the endpoint of the slot; else to that of slot 0, because rules and elements of one transaction do not become
 *   visible at once; else drop, because a packet that stays untranslated would keep its connection so.
 * - guard: rejects what is still addressed to a VIP.
 */
export function skeletonChains({ family, clusterSetCidrs, masquerade }: SkeletonOptions): Chain[] {
  const { ip, unreachable } = WORDS[family];
  const service = serviceOf(family);
  const inRange = (field: string, verdict: string) =>
    clusterSetCidrs.map(({ text }) => `${field} ${text} ${verdict}`);
  const isVip = (field: string, verdict: string) => [
    ...inRange(field, verdict),
    `${field} @explicit ${verdict}`,
  ];
  const explicit = [
    // Connections that were DNATed to this address, or established before, are another program's.
    `${ip} daddr @explicit ct state established,related return`,
    `${ip} daddr @explicit ct status dnat return`,
    // Only ports of imports: the address may be in use otherwise.
    `${ip} daddr @explicit meta priority set ${service} map @services goto guard`,
  ];
  return [
    {
      name: "prerouting",
      hook: "nat hook prerouting priority -105",
      rules: isVip(`${ip} daddr`, "goto dispatch"),
    },
    {
      name: "output",
      hook: "nat hook output priority -105",
      rules: isVip(`${ip} daddr`, "goto dispatch"),
    },
    {
      name: "dispatch",
      rules: [
        `meta priority set ${service} map @affinity meta priority vmap @timeouts`,
        `meta priority set ${service} map @services meta priority vmap @picks`,
      ],
    },
    {
      name: "translate",
      rules: [dnat(family), "meta priority set none", dnat(family), "drop"],
    },
    {
      name: "postrouting",
      hook: "nat hook postrouting priority 95",
      rules: isVip(`ct status dnat ct original ${ip} daddr`, "goto source-nat"),
    },
    {
      name: "source-nat",
      rules: ["meta priority set none", "jump hairpin", ...policyRules(family, masquerade)],
    },
    { name: "hairpin", rules: hairpinRules(family) },
    {
      name: "guard-forward",
      hook: "filter hook forward priority -10",
      rules: [...inRange(`${ip} daddr`, "goto guard"), ...explicit],
    },
    {
      name: "guard-output",
      hook: "filter hook output priority -10",
      rules: [...inRange(`${ip} daddr`, "goto guard"), ...explicit],
    },
    {
      name: "guard",
      rules: [
        "ct state new meta l4proto tcp reject with tcp reset",
        `ct state new reject with ${unreachable}`,
        "drop",
      ],
    },
    ...Array.from({ length: USUAL_SLOTS }, (_, i) => pickChain(i + 1)),
  ];
}

/** The chain that takes one of `slots` slots at random. */
export function pickChain(slots: number): Chain {
  return {
    name: `pick-${slots}`,
    rules: [`meta priority set numgen random mod ${slots}`, "goto translate"],
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
