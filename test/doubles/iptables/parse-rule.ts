import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { widthOf } from "../../../api/cidr.ts";
import { Refused, UnknownGrammar } from "./faults.ts";
import { parseHost, parseMasked, parseRange } from "./parse-address.ts";
import {
  CT_STATES,
  type CtRange,
  type Match,
  type Negatable,
  type Rule,
  ruleText,
  STATISTIC_ONE,
  type Target,
} from "./rule.ts";
import type { Table } from "./table.ts";
import type { Words } from "./words.ts";

/** XT_MAX_COMMENT_LEN - 1. The tool cuts what is longer, so that the rule would never be found again. */
const COMMENT_BYTES = 255;
/** XT_RECENT_NAME_LEN - 1. The tool cuts what is longer, so that two lists would become one. */
const LIST_BYTES = 199;
/** Above that the tool accepts, and prints a negative number that it does not accept. */
const SECONDS_MAX = 0x7fffffff;

const PROTOCOLS = ["tcp", "udp", "sctp"] as const;
const REJECT_DEFAULT = { IPv4: "icmp-port-unreachable", IPv6: "icmp6-port-unreachable" } as const;

/** The options of each match; true if an argument follows. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  tcp: { "--dport": true },
  udp: { "--dport": true },
  sctp: { "--dport": true },
  comment: { "--comment": true },
  conntrack: { "--ctstate": true, "--ctorigdst": true },
  statistic: { "--mode": true, "--probability": true },
  recent: {
    ...{ "--set": false, "--update": false, "--seconds": true, "--reap": false },
    ...{ "--name": true, "--mask": true, "--rsource": false },
  },
};

/** Parses what follows `-A CHAIN` in a table. Throws `UnknownGrammar` at what no backend and no test writes. */
export function parseRule(words: Words, table: Table): Rule {
  const rule: { source?: Negatable; destination?: Negatable; protocol?: string } = {};
  const matches: Match[] = [];
  let target: Target | undefined;
  for (let word = words.peek(); word !== undefined; word = words.peek()) {
    const negated = word === "!";
    if (negated) words.take();
    const option = words.take();
    if (option === "-s" || option === "-d") {
      const text = words.take();
      const range = parseMasked(text, table.family) ?? parseRange(text, table.family);
      // The tool leaves a range that matches everything out of the rule.
      const isAll = !("mask" in range) && range.bits === 0;
      if (negated && isAll) throw new UnknownGrammar(`a rule that matches nothing: ${text}`);
      if (!isAll) rule[option === "-s" ? "source" : "destination"] = { range, negated };
    } else if (option === "-p" && !negated) rule.protocol = parseProtocol(words.take());
    else if (option === "-m" && !negated)
      matches.push(parseMatch(words, table.family, rule.protocol));
    else if ((option === "-j" || option === "-g") && !negated && target === undefined)
      target = parseTarget(option, words, table, rule.protocol);
    else throw new UnknownGrammar(`option ${option}`);
  }
  const parsed = { ...rule, matches, ...(target && { target }) };
  return { ...parsed, text: ruleText(parsed) };
}

/** Parses the text after `-m`. `protocol`: the value of `-p` before. */
function parseMatch(words: Words, family: Family, protocol: string | undefined): Match {
  const name = words.take();
  const known = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
  if (known === undefined) throw new UnknownGrammar(`-m ${name}`);
  const options = new Map<string, string>();
  const negated = words.peek() === "!" && words.peek(1) === "--ctstate";
  if (negated) words.take();
  for (let word = words.peek(); word !== undefined; word = words.peek()) {
    const argument = Object.hasOwn(known, word) ? known[word] : undefined;
    if (argument === undefined || options.has(word)) break;
    words.take();
    options.set(word, argument ? words.take() : "");
  }
  const required = (option: string): string => {
    const value = options.get(option);
    if (value === undefined) throw new UnknownGrammar(`-m ${name} without ${option}`);
    return value;
  };
  if (name === "comment") {
    const comment = required("--comment");
    if (comment.length > COMMENT_BYTES) throw new UnknownGrammar("a comment that is too long");
    return { match: name, comment };
  }
  if (name === "statistic") {
    const probability = Number(required("--probability"));
    if (required("--mode") !== "random" || !(probability >= 0 && probability <= 1))
      throw new UnknownGrammar(`--probability ${probability}`);
    return { match: name, threshold: Math.round(probability * STATISTIC_ONE) };
  }
  if (name === "conntrack") {
    const [states, range] = [options.get("--ctstate"), options.get("--ctorigdst")];
    if (states === undefined && range === undefined) throw new UnknownGrammar("-m conntrack");
    return {
      match: name,
      ...(states !== undefined && { states: { any: parseStates(states), negated } }),
      ...(range !== undefined && { originalDst: parseCtRange(range, family) }),
    };
  }
  if (name === "recent") return parseRecent(options, family);
  if (protocol !== name) throw new UnknownGrammar(`-m ${name} without -p ${name}`);
  return { match: parseProtocol(name), dport: parsePort(required("--dport")) };
}

function parseProtocol(text: string): (typeof PROTOCOLS)[number] {
  const found = PROTOCOLS.find((protocol) => protocol === text);
  if (found === undefined) throw new UnknownGrammar(`-p ${text}`);
  return found;
}

function parsePort(text: string): number {
  if (!/^(0|[1-9]\d*)$/.test(text) || Number(text) > 65535)
    throw new UnknownGrammar(`port ${text}`);
  return Number(text);
}

function parseStates(text: string): (typeof CT_STATES)[number][] {
  const words = text.toUpperCase().split(",");
  const bad = words.find((word) => !CT_STATES.some((state) => state === word));
  if (bad !== undefined) throw new UnknownGrammar(`state ${bad}`);
  return CT_STATES.filter((state) => words.includes(state));
}

function parseCtRange(text: string, family: Family): CtRange {
  const range = parseRange(text, family);
  const base = parseAddress(text.split("/")[0] ?? "");
  const address = isAddress(base) ? base.text : "";
  return { range, printed: range.bits === widthOf(family) ? address : `${address}/${range.bits}` };
}

function parseRecent(options: ReadonlyMap<string, string>, family: Family): Match {
  const actions = (["set", "update"] as const).filter((a) => options.has(`--${a}`));
  const [action] = actions;
  const list = options.get("--name") ?? "DEFAULT";
  const whole = family === "IPv4" ? "255.255.255.255" : Array(8).fill("ffff").join(":");
  const mask = options.get("--mask") ?? whole;
  const seconds = options.has("--seconds") ? Number(options.get("--seconds")) : undefined;
  const reap = options.has("--reap");
  const isTimed = action !== "set" && Number(seconds) >= 1 && Number(seconds) <= SECONDS_MAX;
  if (
    action === undefined ||
    actions.length > 1 ||
    // Printed without quotes: a blank in it would not read back.
    !/^[\w:-][\w.:-]*$/.test(list) ||
    list.length > LIST_BYTES ||
    mask !== whole ||
    (seconds === undefined ? reap : !isTimed)
  )
    throw new UnknownGrammar(`-m recent ${[...options].flat().join(" ")}`);
  return { match: "recent", action, reap, list, mask, ...(seconds !== undefined && { seconds }) };
}

/** Parses the text after `-j` or `-g`. `protocol`: the value of `-p` before. */
function parseTarget(
  option: "-j" | "-g",
  words: Words,
  table: Table,
  protocol: string | undefined,
): Target {
  const name = words.take();
  if (table.hasChain(name)) return { target: option === "-g" ? "goto" : "jump", chain: name };
  if (option === "-g") throw new Refused("syntax", `goto '${name}' is not a chain`);
  if (name === "RETURN" || name === "ACCEPT") return { target: name };
  if (name === "DROP" && table.table === "filter") return { target: name };
  if (name === "REJECT" && table.table === "filter") {
    const type = optional(words, "--reject-with") ?? REJECT_DEFAULT[table.family];
    if (type !== REJECT_DEFAULT[table.family] && (type !== "tcp-reset" || protocol !== "tcp"))
      throw new UnknownGrammar(`--reject-with ${type}`);
    return { target: name, with: type };
  }
  if (name === "DNAT" && table.table === "nat") return parseDnat(words, table, protocol);
  if (name === "MASQUERADE" && table.table === "nat") {
    const randomFully = words.peek() === "--random-fully";
    if (randomFully) words.take();
    return { target: name, randomFully };
  }
  // Whatever else is in capitals may be an extension; a chain that is missing is ours to refuse.
  if (/^[A-Z0-9]+$/.test(name)) throw new UnknownGrammar(`-j ${name}`);
  throw new Refused("syntax", `Couldn't load target \`${name}':No such file or directory`);
}

function parseDnat(words: Words, table: Table, protocol: string | undefined): Target {
  const to = optional(words, "--to-destination") ?? "";
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(to);
  const plain = table.family === "IPv4" ? /^([^:]*)(?::(.*))?$/.exec(to) : /^(.*)$/.exec(to);
  const [, host = "", port] = bracketed ?? plain ?? [];
  const address = parseHost(host, table.family).text;
  if (port === undefined) return { target: "DNAT", address };
  if (!protocol) throw new UnknownGrammar(`--to-destination ${to} without -p`);
  return { target: "DNAT", address, port: parsePort(port) };
}

function optional(words: Words, option: string): string | undefined {
  if (words.peek() !== option) return undefined;
  words.take();
  return words.take();
}
