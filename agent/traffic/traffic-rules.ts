import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { type Chain, commentsOf, hooksOf, POLICY, WORDS } from "../backends/nft/chains.ts";
import type { CountedMembers } from "./counted-members.ts";

/** The name of the table, in each family, with any backend. */
export const TRAFFIC_TABLE = "clusterset-connections";

/** The counter of what belongs to no known cluster. IDs have a prefix: some are words of nft, or begin with a digit. */
const UNKNOWN = "unknown";
const PREFIX = "member-";

/** What the rules depend on. */
export interface TrafficRulesOptions {
  readonly family: Family;
  /** Ranges of all VIPs. */
  readonly vips: readonly Cidr[];
  readonly counted: CountedMembers;
}

/** The cluster of a counter: undefined if it counts what belongs to no known one. */
export function memberOf(counter: string): string | undefined {
  return counter.startsWith(PREFIX) ? counter.slice(PREFIX.length) : undefined;
}

/**
 * The chains, which decide about no packet. A chain of type nat sees the first packet of a connection only: packets of established ones cost nothing (0.2 us each in a chain of type filter, 6.18).
 *
 * - sent: the connection was to a VIP, and goes elsewhere now: DNAT or IPVS has chosen its endpoint. A reset by which the guard rejects one is the first packet, too, but of the other direction.
 * - counted: `accept` ends this table only.
 */
function trafficChains({ family, vips, counted }: TrafficRulesOptions): Chain[] {
  const { ip } = WORDS[family];
  const ranges = counted.ranges.map(({ text, member }) => `${text} : "${PREFIX}${member}"`);
  return [
    {
      name: "sent",
      hook: "nat hook postrouting priority 90",
      rules: vips
        .filter((range) => range.family === family)
        .map(
          ({ text }) =>
            `ct direction original ct original ${ip} daddr ${text} ${ip} daddr != ${text} goto counted`,
        ),
    },
    {
      name: "counted",
      rules: [
        ...(ranges.length === 0
          ? []
          : [`counter name ${ip} daddr map { ${ranges.join(", ")} } accept`]),
        `counter name "${counterOf(counted.rest)}"`,
      ],
    },
  ];
}

/** The comments of all rules, in order: other rules have others. And the base chains. PURE. */
export function trafficMarks(options: TrafficRulesOptions) {
  const chains = trafficChains(options);
  return { comments: commentsOf(chains), hooks: hooksOf(chains) };
}

/**
 * Input of nft that writes the table. `found`: the counters that are there; those of counted clusters keep their values. Undefined: replaces the table. PURE.
 */
export function trafficText(
  options: TrafficRulesOptions,
  found: readonly string[] | undefined,
): string {
  const table = `${WORDS[options.family].ip} ${TRAFFIC_TABLE}`;
  const chains = trafficChains(options);
  const comments = trafficMarks(options).comments.values();
  const wanted = [...options.counted.members.map(counterOf), UNKNOWN];
  const isNew = (counter: string) => found === undefined || !found.includes(counter);
  const lines = [
    `add table ${table}`,
    ...(found === undefined ? [`delete table ${table}`, `add table ${table}`] : []),
    ...wanted.filter(isNew).map((counter) => `add counter ${table} ${counter}`),
    ...chains.flatMap(({ name, hook }) => [
      `add chain ${table} ${name}${hook === undefined ? "" : ` { type ${hook}; ${POLICY}; }`}`,
      `flush chain ${table} ${name}`,
    ]),
    ...chains.flatMap(({ name, rules }) =>
      rules.map((rule) => `add rule ${table} ${name} ${rule} comment "${comments.next().value}"`),
    ),
    ...(found ?? [])
      .filter((counter) => !wanted.includes(counter))
      .map((counter) => `delete counter ${table} ${counter}`),
  ];
  return `${lines.join("\n")}\n`;
}

function counterOf(member: string | undefined): string {
  return member === undefined ? UNKNOWN : `${PREFIX}${member}`;
}
