import type { Family } from "../../../api/address.ts";
import { isAddress, parseAddress } from "../../../api/address.ts";
import { widthOf } from "../../../api/cidr.ts";
import { Refused, UnknownGrammar } from "./faults.ts";
import { parseRange } from "./parse-address.ts";
import { CT_STATES, type CtRange, type CtStates, type Match, STATISTIC_ONE } from "./rule.ts";
import type { Words } from "./words.ts";

/** XT_MAX_COMMENT_LEN - 1. The tool cuts what is longer, so that the rule would never be found again. */
const COMMENT_BYTES = 255;
/** XT_RECENT_NAME_LEN - 1. The tool cuts what is longer, so that two lists would become one. */
const LIST_BYTES = 199;
const SECONDS_MAX = 0xffffffff;

/** The options of each match; true if an argument follows. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  tcp: { "--dport": true },
  udp: { "--dport": true },
  sctp: { "--dport": true },
  comment: { "--comment": true },
  conntrack: { "--ctstate": true, "--ctorigdst": true },
  statistic: { "--mode": true, "--probability": true },
  recent: {
    "--set": false,
    "--update": false,
    "--rcheck": false,
    "--seconds": true,
    "--reap": false,
    "--name": true,
    "--mask": true,
    "--rsource": false,
  },
};

/** The options that the product negates. */
const NEGATABLE = new Set(["--ctstate"]);

type Options = ReadonlyMap<string, string>;

/** Parses the text after `-m`. `protocol`: the value of `-p` before. */
export function parseMatch(words: Words, family: Family, protocol: string | undefined): Match {
  const name = words.take("-m");
  const known = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
  if (known === undefined) throw new UnknownGrammar(`-m ${name}`);
  const options = new Map<string, string>();
  const negated = new Set<string>();
  for (let word = words.peek(); word !== undefined; word = words.peek()) {
    const next = words.peek(1) ?? "";
    if (word === "!" && Object.hasOwn(known, next)) {
      if (!NEGATABLE.has(next)) throw new UnknownGrammar(`-m ${name} ! ${next}`);
      words.take(name);
      negated.add(next);
      word = next;
    }
    const argument = Object.hasOwn(known, word) ? known[word] : undefined;
    if (argument === undefined) break;
    words.take(name);
    if (options.has(word))
      throw new Refused("syntax", `${name}: option "${word}" can only be used once.`);
    options.set(word, argument ? words.take(word) : "");
  }
  switch (name) {
    case "tcp":
    case "udp":
    case "sctp":
      if (protocol !== name) throw new Refused("syntax", `${name} match requires '-p ${name}'`);
      return { match: name, dport: parsePort(required(name, options, "--dport")) };
    case "comment":
      return { match: "comment", comment: parseComment(required(name, options, "--comment")) };
    case "conntrack":
      return parseConntrack(options, negated, family);
    case "statistic":
      return parseStatistic(options);
    default:
      return parseRecent(options, family);
  }
}

/** A port number in decimal; names and ranges are grammar that the product does not write. */
export function parsePort(text: string): number {
  if (/^0\d|^-/.test(text))
    throw new Refused("syntax", `invalid port/service \`${text}' specified`);
  if (!/^\d+$/.test(text)) throw new UnknownGrammar(`port ${text}`);
  if (Number(text) > 65535)
    throw new Refused("syntax", `invalid port/service \`${text}' specified`);
  return Number(text);
}

function parseComment(text: string): string {
  if (text.length > COMMENT_BYTES) throw new UnknownGrammar(`a comment of ${text.length} bytes`);
  return text;
}

function parseConntrack(options: Options, negated: ReadonlySet<string>, family: Family): Match {
  const states = options.get("--ctstate");
  const range = options.get("--ctorigdst");
  if (states === undefined && range === undefined) {
    throw new Refused("syntax", "conntrack: At least one option is required");
  }
  return {
    match: "conntrack",
    ...(states !== undefined && { states: parseStates(states, negated.has("--ctstate")) }),
    ...(range !== undefined && { originalDst: parseCtRange(range, family) }),
  };
}

function parseStates(text: string, negated: boolean): CtStates {
  const words = text.split(",");
  const bad = words.find((word) => !CT_STATES.some((state) => state === word.toUpperCase()));
  if (bad !== undefined) throw new Refused("syntax", `Bad ctstate "${bad}"`);
  const any = CT_STATES.filter((state) => words.some((word) => word.toUpperCase() === state));
  return { any, negated };
}

function parseCtRange(text: string, family: Family): CtRange {
  const range = parseRange(text, family);
  const base = parseAddress(text.split("/")[0] ?? "");
  const address = isAddress(base) ? base.text : "";
  return { range, printed: range.bits === widthOf(family) ? address : `${address}/${range.bits}` };
}

function parseStatistic(options: Options): Match {
  const mode = required("statistic", options, "--mode");
  if (mode !== "random") throw new UnknownGrammar(`-m statistic --mode ${mode}`);
  const text = options.get("--probability");
  if (text === undefined) {
    throw new Refused("syntax", "--probability must be specified when using random mode");
  }
  const probability = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(probability >= 0 && probability <= 1)) {
    throw new Refused(
      "syntax",
      `statistic: bad value for option "--probability", or out of range (0-1).`,
    );
  }
  return { match: "statistic", threshold: Math.round(probability * STATISTIC_ONE) };
}

function parseRecent(options: Options, family: Family): Match {
  const [action, second] = (["set", "update", "rcheck"] as const).filter((a) =>
    options.has(`--${a}`),
  );
  if (action === undefined) {
    throw new Refused(
      "syntax",
      "recent: you must specify one of `--set', `--rcheck' `--update' or `--remove'",
    );
  }
  if (second) {
    throw new Refused(
      "syntax",
      `recent: option "--${action}" cannot be used together with "--${second}".`,
    );
  }
  const list = options.get("--name") ?? "DEFAULT";
  if (list.length > LIST_BYTES)
    throw new UnknownGrammar(`a recent list's name of ${list.length} bytes`);
  // Printed without quotes: a blank in it would not read back.
  if (!/^[\w.:/-]*$/.test(list)) throw new UnknownGrammar(`recent list ${list}`);
  if (["", ".", ".."].includes(list) || list.includes("/")) {
    throw new Refused("kernel", `recent list "${list}": Invalid argument`);
  }
  const whole = family === "IPv4" ? "255.255.255.255" : Array(8).fill("ffff").join(":");
  const mask = options.get("--mask") ?? whole;
  if (mask !== whole) throw new UnknownGrammar(`-m recent --mask ${mask}`);
  const seconds = parseSeconds(options.get("--seconds"));
  const reap = options.has("--reap");
  if (reap && seconds === undefined) {
    throw new Refused("syntax", `recent: option "--reap" also requires "--seconds".`);
  }
  if (action === "set" && seconds !== undefined) {
    throw new Refused("kernel", "recent --set with --seconds: Invalid argument");
  }
  return { match: "recent", action, reap, list, mask, ...(seconds !== undefined && { seconds }) };
}

function parseSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds >= 1 && seconds <= SECONDS_MAX)) {
    throw new Refused("syntax", `recent: bad value for option "--seconds", or out of range`);
  }
  // Above that the tool accepts, and prints a negative number that it does not accept.
  if (seconds > 0x7fffffff) throw new UnknownGrammar(`-m recent --seconds ${text}`);
  return seconds;
}

function required(name: string, options: Options, option: string): string {
  const value = options.get(option);
  if (value !== undefined) return value;
  if (option === "--dport") throw new UnknownGrammar(`-m ${name} without --dport`);
  throw new Refused("syntax", `${name}: option "${option}" must be specified`);
}
