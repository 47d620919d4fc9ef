import { contains } from "../../api/cidr.ts";
import { type Match, type Negatable, type Rule, STATISTIC_ONE } from "../doubles/iptables/rule.ts";
import type { Policy, Table } from "../doubles/iptables/table.ts";
import { address } from "../generators/facts.ts";
import { andDraw } from "./chance.ts";
import { hasBits } from "./has-bits.ts";
import type { Journey } from "./packet.ts";

/** The verdict of a hook of one table: after `ACCEPT` the next hook is evaluated. */
export type Ending = Policy | { readonly reject: string };

/** Rules evaluated for one packet; more is a loop. */
const MOST_STEPS = 1_000_000;

/** A place between two rules, and where `-j` came from. */
interface Position {
  readonly journey: Journey;
  readonly chain: string;
  readonly at: number;
  readonly callers: readonly { readonly chain: string; readonly at: number }[];
}

/**
 * Walks a packet through one base chain, and every way that a draw can send it. As the kernel does: `-j`
 * remembers where it came from, `-g` does not, the end of a chain and RETURN go back to the last `-j`, and
 * from the base chain its policy decides.
 */
export function* walk(table: Table, base: string, start: Journey): Generator<[Journey, Ending]> {
  const pending: Position[] = [{ journey: start, chain: base, at: 0, callers: [] }];
  for (let steps = 0; ; steps++) {
    const position = pending.pop();
    if (position === undefined) return;
    if (steps > MOST_STEPS) throw new Error(`${base}: no way out after ${steps} rules`);
    const { journey, chain, at, callers } = position;
    const rule = table.chain(chain).rules[at];
    if (rule === undefined) {
      const caller = callers.at(-1);
      if (caller) pending.push({ ...caller, journey, callers: callers.slice(0, -1) });
      else yield [journey, table.chain(base).policy ?? "ACCEPT"];
      continue;
    }
    const next = { chain, at: at + 1 };
    for (const answer of ask(rule, { ...journey, asked: journey.asked + 1 }).reverse()) {
      if (!answer.matched) {
        pending.push({ ...next, journey: answer.journey, callers });
        continue;
      }
      const text = `-A ${chain}${rule.text === "" ? "" : ` ${rule.text}`}`;
      const hit = { ...answer.journey, rules: [...journey.rules, text] };
      const { target } = rule;
      switch (target?.target) {
        case undefined:
          pending.push({ ...next, journey: hit, callers });
          break;
        case "jump":
          pending.push({ journey: hit, chain: target.chain, at: 0, callers: [...callers, next] });
          break;
        case "goto":
          pending.push({ journey: hit, chain: target.chain, at: 0, callers });
          break;
        case "RETURN":
          pending.push({ journey: hit, chain, at: Number.POSITIVE_INFINITY, callers });
          break;
        case "ACCEPT":
        case "DROP":
          yield [hit, target.target];
          break;
        case "REJECT":
          yield [hit, { reject: target.with }];
          break;
        case "MASQUERADE":
          yield [{ ...hit, masqueraded: true }, "ACCEPT"];
          break;
        case "DNAT": {
          const destination = address(target.address);
          const port = target.port ?? hit.port;
          yield [{ ...hit, destination, port, translated: true }, "ACCEPT"];
          break;
        }
      }
    }
  }
}

interface Answer {
  readonly matched: boolean;
  readonly journey: Journey;
}

/** Asks a rule: one answer, or two after a draw, those that match first. */
function ask(rule: Rule, journey: Journey): Answer[] {
  const basics =
    inRange(rule.source, journey.source) &&
    inRange(rule.destination, journey.destination) &&
    (rule.protocol === undefined || rule.protocol === journey.protocol);
  if (!basics) return [{ matched: false, journey }];
  let open: Answer[] = [{ matched: true, journey }];
  const closed: Answer[] = [];
  // A match is evaluated only if all before it match, and their changes stay.
  for (const match of rule.matches) {
    const answers = open.flatMap((answer) => askMatch(match, answer.journey));
    open = answers.filter(({ matched }) => matched);
    closed.push(...answers.filter(({ matched }) => !matched));
  }
  return [...open, ...closed];
}

function askMatch(match: Match, journey: Journey): Answer[] {
  const answer = (matched: boolean): Answer[] => [{ matched, journey }];
  switch (match.match) {
    case "comment":
      return answer(true);
    case "tcp":
    case "udp":
    case "sctp":
      return answer(journey.protocol === match.match && journey.port === match.dport);
    case "conntrack":
      return answer(askConntrack(match, journey));
    case "statistic": {
      const draws: [boolean, number][] = [
        [true, match.threshold],
        [false, STATISTIC_ONE - match.threshold],
      ];
      return draws
        .filter(([, threshold]) => threshold > 0)
        .map(([matched, threshold]) => {
          return { matched, journey: { ...journey, chance: andDraw(journey.chance, threshold) } };
        });
    }
    case "recent": {
      const { matched, memory } = journey.memory.ask(match, journey.source.text);
      return [{ matched, journey: { ...journey, memory } }];
    }
  }
}

/** xt_conntrack: DNAT is a state that comes on top; without a connection, only states can match. */
function askConntrack(match: Match & { match: "conntrack" }, journey: Journey): boolean {
  const { states, originalDst } = match;
  const { original } = journey;
  const is = [journey.state, ...(original && journey.translated ? ["DNAT"] : [])];
  if (states && states.any.some((state) => is.includes(state)) === states.negated) return false;
  if (!original) return states !== undefined;
  return originalDst === undefined || contains(originalDst.range, original);
}

function inRange(side: Negatable | undefined, one: Journey["source"]): boolean {
  if (side === undefined) return true;
  const { range } = side;
  const isIn = "mask" in range ? hasBits(one, range.mask, range.bits) : contains(range, one);
  return isIn !== side.negated;
}
