import type { Cidr } from "../../../api/cidr.ts";
import { quoted } from "./words.ts";

/** A parsed rule; `text` is how iptables-save prints it, without `-A CHAIN`. */
export interface Rule {
  readonly source?: Negatable;
  readonly destination?: Negatable;
  readonly protocol?: string;
  /** In the order of the rule, which is the order in which the kernel asks them. */
  readonly matches: readonly Match[];
  /** Absent: the rule only counts. */
  readonly target?: Target;
  readonly text: string;
}

/** Addresses that have these bits under a mask that is no prefix. */
export interface Masked {
  readonly text: string;
  readonly mask: string;
  readonly bits: string;
}

/** An address range, or all but it. */
export interface Negatable {
  readonly range: Cidr | Masked;
  readonly negated: boolean;
}

/** One `-m …` of a rule. */
export type Match =
  | { readonly match: "tcp" | "udp" | "sctp"; readonly dport: number }
  | { readonly match: "comment"; readonly comment: string }
  | {
      readonly match: "conntrack";
      readonly states?: CtStates;
      readonly originalDst?: CtRange;
    }
  | { readonly match: "statistic"; readonly threshold: number }
  | RecentMatch;

/** xt_recent: a list of source addresses, each with the time that it was last seen. */
export interface RecentMatch {
  readonly match: "recent";
  readonly action: "set" | "update";
  /** How recently; absent: ever. */
  readonly seconds?: number;
  readonly reap: boolean;
  readonly list: string;
  /** As printed; the fake supports only the mask of a whole address. */
  readonly mask: string;
}

/** The states in the order in which xt_conntrack prints them. */
export const CT_STATES = [
  "INVALID",
  "NEW",
  "RELATED",
  "ESTABLISHED",
  "UNTRACKED",
  "SNAT",
  "DNAT",
] as const;
/** One of `CT_STATES`. */
export type CtState = (typeof CT_STATES)[number];

/** Any of these states, or none of them. */
export interface CtStates {
  readonly any: readonly CtState[];
  readonly negated: boolean;
}

/** xt_conntrack keeps host bits, and prints a whole address without `/32` or `/128`. */
export interface CtRange {
  readonly range: Cidr;
  readonly printed: string;
}

/** What a matching rule does. */
export type Target =
  | { readonly target: "jump" | "goto"; readonly chain: string }
  | { readonly target: "RETURN" | "ACCEPT" | "DROP" }
  | { readonly target: "REJECT"; readonly with: string }
  | { readonly target: "DNAT"; readonly address: string; readonly port?: number }
  | { readonly target: "MASQUERADE"; readonly randomFully: boolean };

/** Prints a rule as iptables-save 1.8.9 does, both flavours alike. */
export function ruleText(rule: Omit<Rule, "text">): string {
  const parts: string[] = [];
  if (rule.source) parts.push(rangeText("-s", rule.source));
  if (rule.destination) parts.push(rangeText("-d", rule.destination));
  if (rule.protocol) parts.push(`-p ${rule.protocol}`);
  for (const match of rule.matches) parts.push(`-m ${match.match} ${matchText(match)}`);
  if (rule.target) parts.push(targetText(rule.target));
  return parts.join(" ");
}

function rangeText(option: string, { range, negated }: Negatable): string {
  return `${negated ? "! " : ""}${option} ${range.text}`;
}

function matchText(match: Match): string {
  switch (match.match) {
    case "tcp":
    case "udp":
    case "sctp":
      return `--dport ${match.dport}`;
    case "comment":
      return `--comment ${quoted(match.comment)}`;
    case "conntrack": {
      const states = match.states && statesText(match.states);
      const range = match.originalDst && `--ctorigdst ${match.originalDst.printed}`;
      return [states, range].filter((part) => part !== undefined).join(" ");
    }
    case "statistic":
      return `--mode random --probability ${probabilityText(match.threshold)}`;
    case "recent": {
      const seconds = match.seconds === undefined ? "" : ` --seconds ${match.seconds}`;
      const reap = match.reap ? " --reap" : "";
      return `--${match.action}${seconds}${reap} --name ${match.list} --mask ${match.mask} --rsource`;
    }
  }
}

function statesText({ any, negated }: CtStates): string {
  return `${negated ? "! " : ""}--ctstate ${any.join(",")}`;
}

function targetText(target: Target): string {
  switch (target.target) {
    case "jump":
      return `-j ${target.chain}`;
    case "goto":
      return `-g ${target.chain}`;
    case "REJECT":
      return `-j REJECT --reject-with ${target.with}`;
    case "DNAT": {
      const bracketed = target.address.includes(":") ? `[${target.address}]` : target.address;
      const to = target.port === undefined ? target.address : `${bracketed}:${target.port}`;
      return `-j DNAT --to-destination ${to}`;
    }
    case "MASQUERADE":
      return `-j MASQUERADE${target.randomFully ? " --random-fully" : ""}`;
    case "RETURN":
    case "ACCEPT":
    case "DROP":
      return `-j ${target.target}`;
  }
}

/** 2^31: xt_statistic compares 31 random bits with a threshold of 0 to 2^31. */
export const STATISTIC_ONE = 0x80000000;

/**
 * `threshold / 2^31` with 11 decimals, halves to even as the C library rounds: `toFixed` rounds them up,
 * and differs for odd multiples of 1/4096.
 */
function probabilityText(threshold: number): string {
  const scaled = BigInt(threshold) * 10n ** 11n;
  const one = BigInt(STATISTIC_ONE);
  const floor = scaled / one;
  const rest = 2n * (scaled % one);
  const up = rest > one || (rest === one && floor % 2n === 1n);
  const digits = (up ? floor + 1n : floor).toString().padStart(12, "0");
  return `${digits.slice(0, -11)}.${digits.slice(-11)}`;
}
