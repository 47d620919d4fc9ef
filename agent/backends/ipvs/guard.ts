import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Masquerade } from "../backend.ts";
import { marksOfChains } from "./marks.ts";
import { type GuardSets, type ServerKey, serverName } from "./state.ts";

/** Our table of nftables, in the families ip and ip6. */
export const TABLE = "csp-ipvs";

/** What the rules depend on, besides the elements of their sets. */
export interface GuardOptions {
  readonly family: Family;
  readonly clusterSetCidr: Cidr;
  readonly masquerade: { readonly mode: Masquerade; readonly podCidrs: readonly Cidr[] };
  /** True while others may translate VIPs: those who lead connections on until we do. */
  readonly unbound?: boolean;
}

/** The words of nftables for one family. */
const WORDS = {
  IPv4: { ip: "ip", type: "ipv4_addr", unreachable: "icmp type port-unreachable" },
  IPv6: { ip: "ip6", type: "ipv6_addr", unreachable: "icmpv6 type port-unreachable" },
} as const;

/** A chain: how the kernel calls it, if it does, and its rules without their comments. */
interface GuardChain {
  readonly name: string;
  readonly hook?: string;
  readonly rules: readonly string[];
}

/** `ip csp-ipvs`: the table of a family, as nft names it. */
export function tableOf(family: Family): string {
  return `${WORDS[family].ip} ${TABLE}`;
}

/**
 * The rules. What is addressed to a VIP goes through the guard: it is of a connection that stands, or new to a port that
 * is served, or refused at once. What is forwarded to one is on no device, and refused alike.
 *
 * - Nobody else may translate it: nat chains before kube-proxy's bind such connections to the address that they name, or
 *   its NodePorts would be open on each VIP. So the guard of what the node itself sends stands before them, too: IPVS
 *   takes that right after (LOCAL_OUT, -98), and what comes in after all filters (LOCAL_IN, 99).
 * - What is still addressed to a VIP and port behind IPVS was not led on: its server is gone, or has forgotten the connection.
 *   A program of the node that listens on this port would get it.
 * - What IPVS leads on has the VIP only in its connection's original direction. A program of the node has the VIP
 *   itself as its source, where an answer would find it on any other node: it is masqueraded, as hairpins are.
 * - An answer comes from the VIP and port that its connection names. IPVS knows an answer by the client's port and the
 *   destination alone, and takes one of two connections for the other that go from one port to two VIPs, or to two ports of
 *   one, and to the same destination: the older would hang. Connection tracking has told them apart before IPVS sees them.
 */
function chainsOf({ family, clusterSetCidr: { text: range }, masquerade, unbound }: GuardOptions) {
  const { ip, unreachable } = WORDS[family];
  const toVips = (verdict: string) => [
    `${ip} daddr ${range} ${verdict}`,
    `${ip} daddr @explicit ${verdict}`,
  ];
  const chains: GuardChain[] = [
    {
      name: "guard",
      rules: [
        "ct state established,related return",
        `${ip} daddr . meta l4proto . th dport @served return`,
        "ct state new meta l4proto tcp reject with tcp reset",
        `ct state new reject with ${unreachable}`,
        "drop",
      ],
    },
    { name: "input", hook: "filter hook input priority -10", rules: toVips("goto guard") },
    {
      name: "strays",
      hook: "filter hook input priority 110",
      rules: [`ct direction original ${ip} daddr . meta l4proto . th dport @served goto stray`],
    },
    {
      name: "stray",
      rules: ["meta l4proto tcp reject with tcp reset", `reject with ${unreachable}`],
    },
    { name: "forward", hook: "filter hook forward priority -10", rules: toVips("goto guard") },
    { name: "output", hook: "filter hook output priority -110", rules: toVips("goto guard") },
    {
      name: "bind-incoming",
      hook: "nat hook prerouting priority -105",
      rules: unbound ? [] : toVips(`dnat to ${ip} daddr`),
    },
    {
      name: "bind-outgoing",
      hook: "nat hook output priority -105",
      rules: unbound ? [] : toVips(`dnat to ${ip} daddr`),
    },
    {
      name: "postrouting",
      hook: "nat hook postrouting priority 95",
      rules: [
        `ct original ${ip} daddr ${range} goto sources`,
        `ct original ${ip} daddr @explicit goto sources`,
      ],
    },
    {
      name: "answers",
      hook: "filter hook postrouting priority -150",
      rules: [
        "ct direction original accept",
        `ct original ${ip} daddr ${range} goto origin`,
        `ct original ${ip} daddr @explicit goto origin`,
      ],
    },
    {
      name: "origin",
      rules: ["tcp", "udp", "sctp"].map(
        (protocol) =>
          `meta l4proto ${protocol} ${ip} saddr set ct original ${ip} daddr ${protocol} sport set ct original proto-dst`,
      ),
    },
    {
      name: "sources",
      rules: [
        ...toVips("return"),
        `${ip} saddr ${range} masquerade fully-random`,
        `${ip} saddr @explicit masquerade fully-random`,
        `${ip} saddr . ${ip} daddr @hairpins masquerade fully-random`,
        ...policyRules(family, masquerade),
      ],
    },
  ];
  return chains;
}

function policyRules(family: Family, { mode, podCidrs }: GuardOptions["masquerade"]): string[] {
  const { ip } = WORDS[family];
  const pods = podCidrs.filter((cidr) => cidr.family === family);
  const unless = (side: string) => pods.map(({ text }) => `${ip} ${side} ${text} return`);
  const all = "masquerade fully-random";
  if (mode === "off-cluster") return [...unless("saddr"), all];
  if (mode === "remote") return [...unless("daddr"), all];
  return mode === "all" ? [all] : [];
}

/** The comments of all rules, in their order. PURE. */
export function marksOf(options: GuardOptions): string[] {
  return marksOfChains(chainsOf(options));
}

/** Whether rules with these comments let nobody else translate VIPs. */
export function isBound(marks: readonly string[]): boolean {
  return marks.some((mark) => mark.startsWith("bind-"));
}

/** The whole table, in place of one that may be there, as input of nft; one transaction. */
export function renderTable(options: GuardOptions, sets: GuardSets): string {
  const { family } = options;
  const { type } = WORDS[family];
  const table = tableOf(family);
  const marks = marksOf(options).values();
  const chains = chainsOf(options).map(({ name, hook, rules }) => {
    const lines = rules.map((rule) => `    ${rule} comment "${marks.next().value}"`);
    const head = hook === undefined ? [] : [`    type ${hook}; policy accept;`];
    return [`  chain ${name} {`, ...head, ...lines, "  }"].join("\n");
  });
  const none: GuardSets = { served: new Map(), explicit: new Set(), hairpins: new Set() };
  return [
    `table ${table} {}`,
    `delete table ${table}`,
    `table ${table} {`,
    `  set served { type ${type} . inet_proto . inet_service; }`,
    `  set explicit { type ${type}; }`,
    `  set hairpins { type ${type} . ${type}; }`,
    ...chains,
    "}",
    ...renderElements(family, none, sets),
    "",
  ].join("\n");
}

/** What lets others translate VIPs again, and leaves the guard: the first step of removing it all. */
export function renderUnbound(family: Family): string {
  const chains = ["bind-incoming", "bind-outgoing"].map((name) => `${tableOf(family)} ${name}`);
  // Somebody may have deleted one, and what is not there cannot be flushed.
  return chains.map((chain) => `add chain ${chain}\nflush chain ${chain}\n`).join("");
}

/** What turns the elements of the sets from one into the other. */
export function renderElements(family: Family, before: GuardSets, after: GuardSets): string[] {
  const served = (one: ServerKey, key?: string) =>
    key === undefined
      ? serverElement(one, family)
      : `${serverElement(one, family)} comment "${key}"`;
  const gone = [...before.served].filter(([one, key]) => after.served.get(one) !== key);
  const come = [...after.served].filter(([one, key]) => before.served.get(one) !== key);
  const text = (hex: string) => addressFromHex(hex).text;
  const twice = (hex: string) => `${text(hex)} . ${text(hex)}`;
  return [
    ...lines(
      "delete",
      family,
      "served",
      gone.map(([one]) => served(one)),
    ),
    ...lines(
      "add",
      family,
      "served",
      come.map(([one, key]) => served(one, key)),
    ),
    ...lines("delete", family, "explicit", without(before.explicit, after.explicit).map(text)),
    ...lines("add", family, "explicit", without(after.explicit, before.explicit).map(text)),
    ...lines("delete", family, "hairpins", without(before.hairpins, after.hairpins).map(twice)),
    ...lines("add", family, "hairpins", without(after.hairpins, before.hairpins).map(twice)),
  ];
}

/** Elements of one line: nft is slow in lines, and its memory in their length. */
const A_LINE = 500;

function lines(
  verb: "add" | "delete",
  family: Family,
  set: string,
  elements: readonly string[],
): string[] {
  const found: string[] = [];
  for (let i = 0; i < elements.length; i += A_LINE) {
    const some = elements.slice(i, i + A_LINE).join(", ");
    found.push(`${verb} element ${tableOf(family)} ${set} { ${some} }`);
  }
  return found;
}

function serverElement(key: ServerKey, family: Family): string {
  const { address, protocol, port } = serverName(key, family);
  return `${addressFromHex(address).text} . ${protocol.toLowerCase()} . ${port}`;
}

function without(some: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...some].filter((one) => !others.has(one));
}
