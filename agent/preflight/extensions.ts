import type { Family } from "../../api/address.ts";
import type { Outcome } from "./sight.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** Something that the kernel and iptables must both know, and what is lost without. */
export interface Extension {
  /** One word, as iptables calls it. */
  readonly name: string;
  readonly lost: string;
  /** Table, chain and rule that need it, as arguments after `-A`; families spell some things differently. */
  readonly rule: (family: Family) => string;
}

const EVERYTHING = "every rule";

/** Everything that rules of ours are made of; a test holds this to what is rendered. */
export const EXTENSIONS: readonly Extension[] = [
  {
    name: "comment",
    lost: EVERYTHING,
    rule: () => "nat PREROUTING -m comment --comment clusterset-proxy -j RETURN",
  },
  {
    name: "tcp",
    lost: "TCP ports",
    rule: () => "nat PREROUTING -p tcp -m tcp --dport 1 -j RETURN",
  },
  {
    name: "udp",
    lost: "UDP ports",
    rule: () => "nat PREROUTING -p udp -m udp --dport 1 -j RETURN",
  },
  {
    name: "sctp",
    lost: "SCTP ports",
    rule: () => "nat PREROUTING -p sctp -m sctp --dport 1 -j RETURN",
  },
  {
    name: "DNAT",
    lost: EVERYTHING,
    rule: (family) =>
      `nat PREROUTING -p tcp -j DNAT --to-destination ${family === "IPv4" ? "192.0.2.1:1" : "[2001:db8::1]:1"}`,
  },
  {
    name: "statistic",
    lost: "ports with more than one endpoint",
    rule: () => "nat PREROUTING -m statistic --mode random --probability 0.5 -j RETURN",
  },
  {
    name: "recent",
    lost: "imports with ClientIP affinity",
    rule: () => "nat PREROUTING -m recent --set --name csp-preflight --rsource -j RETURN",
  },
  {
    name: "conntrack",
    lost: EVERYTHING,
    rule: (family) =>
      `nat POSTROUTING -m conntrack --ctstate DNAT --ctorigdst ${family === "IPv4" ? "192.0.2.1" : "2001:db8::1"} -j RETURN`,
  },
  {
    name: "MASQUERADE",
    lost: "endpoints that call their own ClusterSetIP, and --masquerade",
    rule: () => "nat POSTROUTING -j MASQUERADE --random-fully",
  },
  {
    name: "REJECT",
    lost: EVERYTHING,
    rule: () => "filter FORWARD -p tcp -j REJECT --reject-with tcp-reset",
  },
];

/** Legacy iptables locks a file of the whole node; nobody else writes to this namespace. */
const NO_LOCK = "XTABLES_LOCKFILE=/dev/null";

/**
 * The program that tries them all, for real and without a trace: the kernel and the tool of this node, in a network
 * namespace of its own that ends with the program. It prints the names of those that are refused, each with the
 * tool's words. The kernel may load modules on the way: those that our rules would load.
 */
export function extensionTrial(program: string, family: Family): [string, ...string[]] {
  const tries = EXTENSIONS.map(({ name, rule }) => {
    const [table = "", ...rest] = rule(family).split(" ");
    return `w=$(${program} -t ${table} -A ${rest.join(" ")} 2>&1) || echo "${name}: $w"`;
  });
  const script = [`command -v ${program} >/dev/null || exit 127`, ...tries, "exit 0"].join("\n");
  return ["env", NO_LOCK, "unshare", "--net", "sh", "-c", script];
}

/** Names of the extensions that were refused, with the tool's words; undefined if none could be tried. PURE. */
export function parseTrial({ status, stdout }: Outcome): ReadonlyMap<string, string> | undefined {
  if (status !== 0) return undefined;
  const refused = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [name = "", ...words] = line.split(": ");
    if (EXTENSIONS.some((one) => one.name === name)) refused.set(name, words.join(": "));
  }
  return refused;
}

/** Whether the kernel and the tool know all that our rules are made of, and what is lost if not. PURE. */
export function judgeExtensions(
  family: Family,
  refused: ReadonlyMap<string, string> | undefined,
): Verdict {
  const place = { check: "extensions", family } as const;
  if (refused === undefined) {
    return unknown(
      place,
      "They could not be tried in a network namespace of their own (unshare, CAP_SYS_ADMIN).",
    );
  }
  const lost = EXTENSIONS.filter(({ name }) => refused.has(name));
  if (lost.length === 0) return well(place);
  const each = lost.map((one) => `${one.name} (needed for ${one.lost}; ${refused.get(one.name)})`);
  const advice = `Refused by the kernel or by iptables: ${each.join(", ")}. Load the module (modprobe xt_${lost[0]?.name}), or install the kernel's extra modules.`;
  return failing(place, "extension-missing", advice);
}
