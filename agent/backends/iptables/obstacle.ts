import { type Cidr, contains, isCidr, overlap, parseCidr } from "../../../api/cidr.ts";
import { OWN } from "./chain-name.ts";
import type { Condition, ForeignRule, Target } from "./foreign-rule.ts";
import { type Jump, type Table, tableOf } from "./tables.ts";

/** Where a jump of ours stands, and for whom. */
export interface Place {
  readonly table: Table;
  /** One of the kernel's own chains. */
  readonly chain: string;
  /** What the packets are addressed to; absent where it is not known, and after DNAT. */
  readonly range?: Cidr;
}

/** What is known of the chains of one table that are not ours: their rules; undefined for one that there is not. */
export type ForeignChains = ReadonlyMap<string, readonly ForeignRule[] | undefined>;

/** What stands before a jump. */
export interface Verdict {
  /** The rule of the same chain that takes packets which the jump is for; undefined if none does. */
  readonly obstacle?: Obstacle;
  /** Chains that had to be looked into, and are not among those given, with the rule that leads there. */
  readonly unlisted: ReadonlyMap<string, ForeignRule>;
}

/** What keeps packets from a jump of ours. */
export interface Obstacle {
  /** The rule that stands before the jump. */
  readonly rule: ForeignRule;
  /** The rule that has the last word: the same, or one in a chain that it leads to. */
  readonly taker: ForeignRule;
}

/** Targets after which the next rule is asked. Whatever is not known to be one of them ends the journey. */
const GOES_ON = new Set(
  (
    "LOG NFLOG ULOG MARK CONNMARK TRACE TCPMSS TCPOPTSTRIP CHECKSUM CT NOTRACK SET DSCP TOS TTL HL CLASSIFY ECN " +
    "AUDIT SECMARK CONNSECMARK RATEEST IDLETIMER LED TEE HMARK ACCOUNT"
  ).split(" "),
);
/** Targets that end the journey: names that no chain has. */
const ENDS = new Set(
  "ACCEPT DROP REJECT QUEUE NFQUEUE DNAT REDIRECT SNAT MASQUERADE NETMAP SYNPROXY TPROXY".split(
    " ",
  ),
);
/** Targets that give a connection another source: all that our own masquerading would do. */
const SOURCE_NAT = new Set(["MASQUERADE", "SNAT", "NETMAP"]);
/** What a ClusterSetIP may be asked for, by the names and numbers that iptables prints. */
const PROTOCOLS = new Set(["tcp", "udp", "sctp", "6", "17", "132"]);

/** The place of a jump, read from the jump itself. */
export function placeOf(jump: Jump): Place {
  const [table, rule] = tableOf(jump);
  const chain = rule.slice(0, rule.indexOf(" "));
  const range = parseCidr(/ -d (\S+)/.exec(rule)?.[1] ?? "");
  if (chain === "POSTROUTING" || !isCidr(range)) return { table, chain };
  return { table, chain, range };
}

/**
 * Judges what stands before a jump of ours: the rules of its chain up to it, and the chains that they lead to.
 * It is a rule that can end the journey of the packet that the jump is for: the first one of a connection to a
 * ClusterSetIP, addressed to `place.range`.
 *
 * 1. What a rule asks counts only where the answer is certain (`mayHold`); whatever is not known may hold.
 * 2. RETURN ends a journey in the kernel's own chain, as does `-g`; in a chain that was jumped to it leads back.
 * 3. In POSTROUTING, what another masquerades is masqueraded, which is all that we could do.
 * 4. In filter, a REJECT does what the guard does. So does a DROP, if more slowly: one that somebody put into the
 *    kernel's own chain is an obstacle, and one inside a program's chains is its policy, which no jump of ours is
 *    to be put before over and over.
 */
export function obstacle(
  before: readonly ForeignRule[],
  chains: ForeignChains,
  place: Place,
): Verdict {
  const unlisted = new Map<string, ForeignRule>();
  for (const rule of before) {
    const walk = new Walk(chains, place, (name) => unlisted.set(name, rule));
    const [end, taker] = walk.rule(rule, true);
    if (end === "taken") return { obstacle: { rule, taker }, unlisted };
    if (end === "gone") break;
  }
  return { unlisted };
}

/** True if the packet that `place` stands for may match the rule. */
export function concerns(rule: ForeignRule, place: Place): boolean {
  return rule.conditions.every((condition) => mayHold(condition, place));
}

/**
 * False only if the condition cannot hold for the packet of `place`: its destination is a ClusterSetIP, which is no
 * address of this node; its connection is new, and in POSTROUTING was DNATed; it does not come from the loopback
 * interface, and, before DNAT, does not go there; nobody has marked it. A rule that asks for a mark is for packets
 * that its owner has singled out.
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
  // A mask with holes is no range, and after DNAT the destination is an endpoint's.
  if (range === undefined || !isCidr(asked)) return true;
  if (!negated) return overlap(asked, range);
  const covers =
    asked.bits <= range.bits && contains(asked, { family: range.family, text: "", hex: range.hex });
  return !covers;
}

/** What becomes of the packet: it comes back, an obstacle takes it, or it is gone for sure and no worse for that. */
type End = "back" | "taken" | "gone";

/** One walk through the chains that one rule leads to. */
class Walk {
  readonly #chains: ForeignChains;
  readonly #place: Place;
  readonly #onUnlisted: (name: string) => void;
  readonly #seen = new Map<string, readonly [End, ForeignRule | undefined]>();

  constructor(chains: ForeignChains, place: Place, onUnlisted: (name: string) => void) {
    this.#chains = chains;
    this.#place = place;
    this.#onUnlisted = onUnlisted;
  }

  /** What one rule does; `base`: it stands in the kernel's own chain. */
  rule(rule: ForeignRule, base: boolean): readonly [End, ForeignRule] {
    const { target, conditions } = rule;
    if (target === undefined || !concerns(rule, this.#place)) return ["back", rule];
    const sure = conditions.length === 0;
    if (target.name === "RETURN") return [base ? "taken" : "back", rule];
    const [end, taker = rule] = this.#end(target, base);
    if (base && target.goto && end === "back") return ["taken", rule];
    return [end === "gone" && !sure ? "back" : end, taker];
  }

  #end({ name }: Target, base: boolean): readonly [End, ForeignRule | undefined] {
    const { table, chain } = this.#place;
    if (name.startsWith(OWN) || GOES_ON.has(name)) return ["back", undefined];
    if (chain === "POSTROUTING" && SOURCE_NAT.has(name)) return ["gone", undefined];
    if (table === "filter" && (name === "REJECT" || (name === "DROP" && !base)))
      return ["gone", undefined];
    if (ENDS.has(name)) return ["taken", undefined];
    return this.#chain(name);
  }

  #chain(name: string): readonly [End, ForeignRule | undefined] {
    const known = this.#seen.get(name);
    if (known !== undefined) return known;
    if (!this.#chains.has(name)) {
      this.#onUnlisted(name);
      return ["back", undefined];
    }
    const rules = this.#chains.get(name);
    // No such chain: an extension that is not known here.
    if (rules === undefined) return ["taken", undefined];
    // Until it is known, for a loop that nothing reaches.
    this.#seen.set(name, ["back", undefined]);
    const found = this.#walk(rules);
    this.#seen.set(name, found);
    return found;
  }

  #walk(rules: readonly ForeignRule[]): readonly [End, ForeignRule | undefined] {
    for (const rule of rules) {
      const [end, taker] = this.rule(rule, false);
      if (end !== "back") return [end, taker];
      const { target, conditions } = rule;
      const leaves = target?.name === "RETURN" || target?.goto === true;
      if (leaves && conditions.length === 0) return ["back", undefined];
    }
    return ["back", undefined];
  }
}
