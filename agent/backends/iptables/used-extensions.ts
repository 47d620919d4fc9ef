import type { Family } from "../../../api/address.ts";
import type { RejectedExtension } from "../requirements.ts";
import { dnat } from "./rule.ts";

/** A match or target that the kernel and iptables must both support. */
export interface Extension {
  /** One word, as in iptables-extensions(8). */
  readonly name: string;
  /** What does not work without it. */
  readonly lost: string;
  /** Table, chain and rule that need it, as arguments after `-A`; some differ between families. */
  readonly rule: (family: Family) => string;
}

const EVERYTHING = "every rule";

/** An address for documentation, which the rules name. */
const TARGET = { IPv4: "192.0.2.1", IPv6: "2001:db8::1" } as const;

/** A match of the port of a protocol. */
function portMatch(name: string, lost: string): Extension {
  return { name, lost, rule: () => `nat PREROUTING -p ${name} -m ${name} --dport 1 -j RETURN` };
}

/** Every extension that our rules use; a test compares this list with the rendered rules. */
export const EXTENSIONS: readonly Extension[] = [
  {
    name: "comment",
    lost: EVERYTHING,
    rule: () => "nat PREROUTING -m comment --comment clusterset-proxy -j RETURN",
  },
  portMatch("tcp", "TCP ports"),
  portMatch("udp", "UDP ports"),
  portMatch("sctp", "SCTP ports"),
  {
    name: "DNAT",
    lost: EVERYTHING,
    rule: (family) => `nat PREROUTING -p tcp ${dnat(TARGET[family], 1, family)}`,
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
      `nat POSTROUTING -m conntrack --ctstate DNAT --ctorigdst ${TARGET[family]} -j RETURN`,
  },
  {
    name: "MASQUERADE",
    lost: "endpoints that connect to their own ClusterSetIP, and --masquerade",
    rule: () => "nat POSTROUTING -j MASQUERADE --random-fully",
  },
  {
    name: "REJECT",
    lost: EVERYTHING,
    rule: () => "filter FORWARD -p tcp -j REJECT --reject-with tcp-reset",
  },
];

/** Legacy iptables locks a file of the whole node; no other program writes to the namespace of the test. */
const NO_LOCK = "XTABLES_LOCKFILE=/dev/null";

/**
 * The command that tries all extensions with the kernel and `program`, such as `iptables-nft`, and prints those that are rejected
 * (`rejectedIn`). It fails if they cannot be tried. The rules go into a network namespace that ends with the command, so nothing is
 * left behind; the kernel may load modules for it, as it would for our rules.
 */
export function trialCommand(program: string, family: Family): readonly [string, ...string[]] {
  const tries = EXTENSIONS.map(({ name, rule }) => {
    const [table = "", ...rest] = rule(family).split(" ");
    return `w=$(${program} -t ${table} -A ${rest.join(" ")} 2>&1) || echo "${name}: $w"`;
  });
  const script = [`command -v ${program} >/dev/null || exit 127`, ...tries, "exit 0"].join("\n");
  return ["env", NO_LOCK, "unshare", "--net", "sh", "-c", script];
}

/** The extensions that the output of `trialCommand` names. */
export function rejectedIn(stdout: string): RejectedExtension[] {
  const messages = new Map(
    stdout.split("\n").map((line) => {
      const [name = "", ...words] = line.split(": ");
      return [name, words.join(": ")] as const;
    }),
  );
  return EXTENSIONS.flatMap(({ name, lost }) => {
    const message = messages.get(name);
    return message === undefined ? [] : [{ name, lost, message }];
  });
}
