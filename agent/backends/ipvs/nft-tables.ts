import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { ServiceKey } from "../../plan/virtual-service.ts";
import { type Chain, commentsOf, hooksOf, replaceTable, WORDS } from "../nft/chains.ts";
import { type GuardOptions, guardChains } from "./guard.ts";

/** Our nftables tables of one family, which are always written together: the guard, and with IPv4 the ARP rules. */

/** The elements of the guard's sets. */
export interface GuardSets {
  /** Virtual servers that get new connections, and the import of each. */
  readonly served: Map<ServiceKey, string>;
  /** VIPs outside of the ClusterSet CIDR. */
  readonly explicit: Set<string>;
}

/** Sets without elements. */
export function noSets(): GuardSets {
  return { served: new Map(), explicit: new Set() };
}

/** `ip csp-ipvs`: the guard's table, as nft names it. */
export function guardTable(family: Family): string {
  return `${WORDS[family].ip} csp-ipvs`;
}

/** The names of the tables, the guard's first. */
export function tablesOf(family: Family): string[] {
  return family === "IPv4" ? [guardTable(family), ARP_TABLE] : [guardTable(family)];
}

const ARP_TABLE = "arp csp-ipvs";

/** The comments of all rules, in their order. PURE. */
export function marksOf(options: GuardOptions): string[] {
  return tablesOf(options.family).flatMap((table) => marksIn(table, options));
}

/** The base chains of one of the tables; they depend on no option. PURE. */
export function hooksIn(table: string, family: Family): ReadonlyMap<string, string> {
  const masquerade = { mode: "none", podCidrs: [] } as const;
  return hooksOf(chainsOf(table, { family, clusterSetCidrs: [], masquerade }));
}

/** Input of nft that replaces the tables in one transaction. PURE. */
export function renderTables(options: GuardOptions, sets: GuardSets): string {
  const { family } = options;
  const { type } = WORDS[family];
  const types = {
    served: `${type} . inet_proto . inet_service`,
    explicit: type,
  };
  const tables = tablesOf(family).flatMap((table) => {
    const used = table === ARP_TABLE ? { explicit: type } : types;
    return replaceTable(table, used, chainsOf(table, options), marksIn(table, options));
  });
  return [...tables, ...renderElements(family, noSets(), sets), ""].join("\n");
}

/** Commands of nft that change the elements of the sets from `before` to `after`. PURE. */
export function renderElements(family: Family, before: GuardSets, after: GuardSets): string[] {
  const text = (hex: string) => addressFromHex(hex).text;
  const server = (key: ServiceKey) => {
    const [address = "", protocol = "", port] = key.split(" ");
    return `${text(address)} . ${protocol.toLowerCase()} . ${port}`;
  };
  const guard = guardTable(family);
  return [
    ...elementLines(guard, "served", before.served, after.served, server),
    ...tablesOf(family).flatMap((table) =>
      elementLines(table, "explicit", before.explicit, after.explicit, text),
    ),
  ];
}

/** Input of nft that lets other programs translate VIPs again, and keeps the guard: the first step of removal. */
export function renderUnbound(family: Family): string {
  const chains = ["bind-incoming", "bind-outgoing"].map((name) => `${guardTable(family)} ${name}`);
  // Flushing fails if another program has deleted the chain.
  return chains.map((chain) => `add chain ${chain}\nflush chain ${chain}\n`).join("");
}

function marksIn(table: string, options: GuardOptions): string[] {
  return commentsOf(chainsOf(table, options), table === ARP_TABLE ? "arp " : "");
}

function chainsOf(table: string, options: GuardOptions): Chain[] {
  return table === ARP_TABLE ? arpChains(options.clusterSetCidrs) : guardChains(options);
}

/**
 * Every node has the VIPs, so it must not announce them in ARP. Requests for a VIP are dropped. For a packet from a VIP, such as a
 * reply through IPVS, the kernel would send requests with the VIP as sender; the sender is set to 0.0.0.0, which neighbours do
 * not cache (RFC 5227, 2.1.1).
 *
 * The sysctls arp_ignore and arp_announce affect all addresses of the node: with them, it does not reply to pods behind a device
 * without an address (kubernetes#71555). IPv6 needs none of this: it uses only addresses of the device (RFC 4861, 7.2).
 */
function arpChains(clusterSetCidrs: readonly Cidr[]): Chain[] {
  const vips = [...clusterSetCidrs.map(({ text }) => text), "@explicit"];
  return [
    {
      name: "input",
      hook: "filter hook input priority 0",
      rules: vips.map((one) => `arp operation request arp daddr ip ${one} drop`),
    },
    {
      name: "output",
      hook: "filter hook output priority 0",
      rules: vips.map(
        (one) => `arp operation request arp saddr ip ${one} arp saddr ip set 0.0.0.0`,
      ),
    },
  ];
}

/** Elements of a set, or of a set whose elements have comments. */
type Elements<Key> = ReadonlySet<Key> | ReadonlyMap<Key, string>;

/** Elements per line: nft is slow with many lines, and needs much memory for long ones. */
const PER_LINE = 500;

/** The lines that turn the elements of a set from `before` into `after`. `text` writes an element without its comment. */
export function elementLines<Key>(
  table: string,
  set: string,
  before: Elements<Key>,
  after: Elements<Key>,
  text: (key: Key) => string,
): string[] {
  const differs = (key: Key) => stateOf(before, key) !== stateOf(after, key);
  const added = [...after.keys()].filter(differs).map((key) => {
    const comment = stateOf(after, key);
    return typeof comment === "string" ? `${text(key)} comment "${comment}"` : text(key);
  });
  return [
    ...lines(`delete element ${table} ${set}`, [...before.keys()].filter(differs).map(text)),
    ...lines(`add element ${table} ${set}`, added),
  ];
}

function stateOf<Key>(elements: Elements<Key>, key: Key): string | boolean | undefined {
  return "get" in elements ? elements.get(key) : elements.has(key);
}

function lines(command: string, elements: readonly string[]): string[] {
  const found: string[] = [];
  for (let i = 0; i < elements.length; i += PER_LINE)
    found.push(`${command} { ${elements.slice(i, i + PER_LINE).join(", ")} }`);
  return found;
}
