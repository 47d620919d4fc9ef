import { Refused, UnknownGrammar } from "./faults.ts";
import { parseHost } from "./parse-address.ts";
import type { Place } from "./place.ts";
import type { Target } from "./rule.ts";
import type { Words } from "./words.ts";

const REJECT_DEFAULT = { IPv4: "icmp-port-unreachable", IPv6: "icmp6-port-unreachable" } as const;

/** Parses the text after `-j` or `-g`. `protocol`: the value of `-p` before. */
export function parseTarget(
  option: "-j" | "-g",
  words: Words,
  place: Place,
  protocol: string | undefined,
): Target {
  const name = words.take(option);
  if (option === "-g") {
    if (!place.hasChain(name)) throw new Refused("syntax", `goto '${name}' is not a chain`);
    return { target: "goto", chain: name };
  }
  if (place.hasChain(name)) return { target: "jump", chain: name };
  switch (name) {
    case "DROP":
      if (place.table === "nat") {
        throw new Refused("syntax", `The "nat" table is not intended for filtering`);
      }
      return { target: name };
    case "RETURN":
    case "ACCEPT":
      return { target: name };
    case "REJECT":
      return parseReject(words, place, protocol);
    case "DNAT":
      return parseDnat(words, place, protocol);
    case "MASQUERADE":
      return parseMasquerade(words, place);
    default:
      // Whatever else is in capitals may be an extension; a chain that is missing is ours to refuse.
      if (/^[A-Z0-9]+$/.test(name)) throw new UnknownGrammar(`-j ${name}`);
      throw new Refused("syntax", `Couldn't load target \`${name}':No such file or directory`);
  }
}

function parseReject(words: Words, place: Place, protocol: string | undefined): Target {
  const type = optional(words, "--reject-with") ?? REJECT_DEFAULT[place.family];
  if (type === "tcp-reset") {
    if (protocol !== "tcp")
      throw new Refused("kernel", "REJECT tcp-reset without -p tcp: Invalid argument");
  } else if (type !== REJECT_DEFAULT[place.family]) {
    if (/^icmp6?-[a-z-]+$/.test(type) && type.startsWith("icmp6") === (place.family === "IPv6")) {
      throw new UnknownGrammar(`--reject-with ${type}`);
    }
    throw new Refused("syntax", `unknown reject type "${type}"`);
  }
  if (place.table !== "filter")
    throw new Refused("kernel", "REJECT outside filter: Invalid argument");
  return { target: "REJECT", with: type };
}

function parseDnat(words: Words, place: Place, protocol: string | undefined): Target {
  const to = optional(words, "--to-destination");
  if (to === undefined)
    throw new Refused("syntax", `DNAT: option "--to-destination" must be specified`);
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(to);
  const plain = place.family === "IPv4" ? /^([^:]*)(?::(.*))?$/.exec(to) : /^(.*)$/.exec(to);
  const [, host = "", port] = bracketed ?? plain ?? [];
  if (host === "" || host.includes("-")) throw new UnknownGrammar(`--to-destination ${to}`);
  const address = parseHost(host, place.family).text;
  if (place.table !== "nat") throw new Refused("kernel", "DNAT outside nat: Invalid argument");
  if (port === undefined) return { target: "DNAT", address };
  if (!protocol) throw new Refused("syntax", "Need TCP, UDP, SCTP or DCCP with port specification");
  if (port === "" || /^0\d/.test(port)) throw new Refused("syntax", `Port \`${port}' not valid`);
  if (!/^\d+$/.test(port)) throw new UnknownGrammar(`--to-destination ${to}`);
  if (Number(port) > 65535) throw new Refused("syntax", `Port \`${port}' not valid`);
  return { target: "DNAT", address, port: Number(port) };
}

function parseMasquerade(words: Words, place: Place): Target {
  const randomFully = words.peek() === "--random-fully";
  if (randomFully) words.take("-j");
  if (place.table !== "nat")
    throw new Refused("kernel", "MASQUERADE outside nat: Invalid argument");
  return { target: "MASQUERADE", randomFully };
}

function optional(words: Words, option: string): string | undefined {
  if (words.peek() !== option) return undefined;
  words.take(option);
  return words.take(option);
}
