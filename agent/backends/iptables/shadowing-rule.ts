import { type Cidr, contains, isCidr, overlap, parseCidr } from "../../../api/cidr.ts";
import { OWN } from "./chain-name.ts";
import type { Condition, ForeignRule } from "./foreign-rule.ts";
import { type Jump, type Table, tableOf } from "./object-id.ts";

/** The position of one of our jumps, and the packets that it is for. */
export interface Place {
  readonly table: Table;
  /** A built-in chain. */
  readonly chain: string;
  /** The destinations of the packets; absent if unknown, and after DNAT. */
  readonly range?: Cidr;
}

/** The rules of foreign chains of one table; undefined for a chain that does not exist. */
export type ForeignChains = ReadonlyMap<string, readonly ForeignRule[] | undefined>;

/** The result for one jump. */
export interface Verdict {
  /** A rule before the jump that takes its packets; undefined if none does. */
  readonly shadowing?: Shadowing;
  /** Chains whose rules are needed and were not given, with the rules that lead there. */
  readonly unlisted: ReadonlyMap<string, ForeignRule>;
}

/** A rule that takes packets before a jump of ours. */
export interface Shadowing {
  /** The rule before the jump. */
  readonly rule: ForeignRule;
  /** The rule that takes the packets: the same, or one in a chain that it leads to. */
  readonly taker: ForeignRule;
}

/** Targets after which the next rule is evaluated. Unknown targets are assumed to end the evaluation. */
const CONTINUES = new Set(
  (
    "LOG NFLOG ULOG MARK CONNMARK TRACE TCPMSS TCPOPTSTRIP CHECKSUM CT NOTRACK SET DSCP TOS TTL HL CLASSIFY ECN " +
    "AUDIT SECMARK CONNSECMARK RATEEST IDLETIMER LED TEE HMARK ACCOUNT"
  ).split(" "),
);
/** Targets that end the evaluation; no chain has these names. */
const ENDS = new Set(
  "ACCEPT DROP REJECT QUEUE NFQUEUE DNAT REDIRECT SNAT MASQUERADE NETMAP SYNPROXY TPROXY".split(
    " ",
  ),
);
/** Targets that do the same as our masquerading. */
const SOURCE_NAT = new Set(["MASQUERADE", "SNAT", "NETMAP"]);
/** Protocols of services, by the names and numbers that iptables prints. */
const PROTOCOLS = new Set(["tcp", "udp", "sctp", "6", "17", "132"]);

/** The place of a jump. */
export function placeOf(jump: Jump): Place {
  const [table, rule] = tableOf(jump);
  const chain = rule.slice(0, rule.indexOf(" "));
  const range = parseCidr(/ -d (\S+)/.exec(rule)?.[1] ?? "");
  if (chain === "POSTROUTING" || !isCidr(range)) return { table, chain };
  return { table, chain, range };
}

/**
 * Evaluates the rules before one of our jumps, and the chains that they lead to. A rule shadows the jump if it can take the packet
 * that the jump is for: the first one of a connection to `place.range`.
 *
 * 1. Conditions count only if they certainly do not hold (`mayHold`).
 * 2. RETURN and `-g` in a built-in chain end the evaluation; in a chain that was jumped to, RETURN leads back.
 * 3. In POSTROUTING, masquerading by another program is as good as ours.
 * 4. In filter, REJECT is as good as the guard. DROP shadows in a built-in chain only: in a program's own chains it is
 *    a policy, and moving our jump before it again and again would not help.
 */
export function findShadowing(
  before: readonly ForeignRule[],
  chains: ForeignChains,
  place: Place,
): Verdict {
  const unlisted = new Map<string, ForeignRule>();
  for (const rule of before) {
    const scan = scanOf(chains, place, (name) => unlisted.set(name, rule));
    const [end, taker] = scan(rule, true);
    if (end === "taken") return { shadowing: { rule, taker }, unlisted };
    if (end === "handled") break;
  }
  return { unlisted };
}

/** True if the packet of `place` may match the rule. */
export function concerns(rule: ForeignRule, place: Place): boolean {
  return rule.conditions.every((condition) => mayHold(condition, place));
}

/**
 * False only if the condition cannot hold for the packet of `place`. Its destination is a ClusterSetIP, which is no address of
 * this node. Its connection is new, and in POSTROUTING it was DNATed. It does not come from the loopback interface and, before
 * DNAT, does not go there. It has no mark.
 */
function mayHold({ option, negated, values }: Condition, place: Place): boolean {
  const [value = ""] = values;
  const before = place.chain !== "POSTROUTING";
  switch (option) {
    case "-d":
      return mayBeAddressed(value, negated, place.range);
    case "-p":
      return negated || PROTOCOLS.has(value);
    case "-i":
      return negated || value !== "lo";
    case "-o":
      return negated || value !== "lo" || !before;
    case "--dst-type":
      return negated || !before || value.split(",").includes("UNICAST");
    case "--ctstate":
    case "--state": {
      const states = before ? ["NEW"] : ["NEW", "DNAT"];
      return value.split(",").some((state) => states.includes(state)) !== negated;
    }
    case "--mark":
      return negated || /^(0x)?0+(\/|$)/.test(value);
    default:
      return true;
  }
}

function mayBeAddressed(text: string, negated: boolean, range: Cidr | undefined): boolean {
  const asked = parseCidr(text);
  // A non-contiguous mask is no range, and after DNAT the destination is an endpoint.
  if (range === undefined || !isCidr(asked)) return true;
  if (!negated) return overlap(asked, range);
  const covers =
    asked.bits <= range.bits && contains(asked, { family: range.family, text: "", hex: range.hex });
  return !covers;
}

/** The packet returns, a rule takes it from our jump, or a rule certainly handles it as ours would. */
type End = "back" | "taken" | "handled";

/** Follows a rule through the chains that it leads to; `base`: it is in a built-in chain. */
type Scan = (rule: ForeignRule, base: boolean) => readonly [End, taker: ForeignRule];

function scanOf(chains: ForeignChains, place: Place, onUnlisted: (name: string) => void): Scan {
  const seen = new Map<string, readonly [End, ForeignRule?]>();
  const inRule: Scan = (rule, base) => {
    const { target, conditions } = rule;
    if (target === undefined || !concerns(rule, place)) return ["back", rule];
    if (target.name === "RETURN") return [base ? "taken" : "back", rule];
    const [end, taker = rule] = atTarget(target.name, base);
    if (base && target.goto && end === "back") return ["taken", rule];
    return [end === "handled" && conditions.length > 0 ? "back" : end, taker];
  };
  const atTarget = (name: string, base: boolean): readonly [End, ForeignRule?] => {
    const { table, chain } = place;
    if (name.startsWith(OWN) || CONTINUES.has(name)) return ["back"];
    if (chain === "POSTROUTING" && SOURCE_NAT.has(name)) return ["handled"];
    if (table === "filter" && (name === "REJECT" || (name === "DROP" && !base))) return ["handled"];
    return ENDS.has(name) ? ["taken"] : inChain(name);
  };
  const inChain = (name: string): readonly [End, ForeignRule?] => {
    const known = seen.get(name);
    if (known !== undefined) return known;
    if (!chains.has(name)) {
      onUnlisted(name);
      return ["back"];
    }
    const rules = chains.get(name);
    // No such chain: an unknown extension.
    if (rules === undefined) return ["taken"];
    // Ends recursion in loops.
    seen.set(name, ["back"]);
    const found = inRules(rules);
    seen.set(name, found);
    return found;
  };
  const inRules = (rules: readonly ForeignRule[]): readonly [End, ForeignRule?] => {
    for (const rule of rules) {
      const found = inRule(rule, false);
      if (found[0] !== "back") return found;
      const { target, conditions } = rule;
      const leaves = target?.name === "RETURN" || target?.goto === true;
      if (leaves && conditions.length === 0) return found;
    }
    return ["back"];
  };
  return inRule;
}
