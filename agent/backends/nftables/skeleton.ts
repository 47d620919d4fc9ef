import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/chains.ts";
import { hairpinRules, policyRules } from "../nft/policy-rules.ts";
import { affinityChains } from "./affinity.ts";
import { dnat, type SkeletonOptions, serviceOf, USUAL_SLOTS } from "./sets.ts";

/**
 * The chains that depend on flags only. The first packet of a connection to a VIP takes them as follows; no later packet does.
 *
 * - dispatch: services in `affinity` go on to sticky (see `affinityChains`). `services` gives the number of slots, `picks` the chain of that number.
 * - pick-N: one of N slots at random.
 * - translate: DNAT to the endpoint of the slot; else to that of slot 0, because rules and elements of one transaction do not become
 *   visible at once; else drop, because a packet that stays untranslated would keep its connection so.
 * - guard: rejects what is still addressed to a VIP.
 */
export function skeletonChains(options: SkeletonOptions): Chain[] {
  const { family, clusterSetCidrs, masquerade, affinity } = options;
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
        ...(affinity === "unsupported"
          ? []
          : [`meta priority set ${service} map @affinity goto sticky`]),
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
    ...affinityChains(options),
  ];
}

/** The chain that takes one of `slots` slots at random. */
export function pickChain(slots: number): Chain {
  return {
    name: `pick-${slots}`,
    rules: [`meta priority set numgen random mod ${slots}`, "goto translate"],
  };
}
