import { addressFromHex, type Family, isAddress, parseAddress } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import { type Entry, TCP_STATES, type Tuple } from "./entry.ts";
import type { EntryFilter } from "./table.ts";

/** Output and arguments of the program conntrack (1.4). */

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ["tcp", "TCP"],
  ["udp", "UDP"],
  ["sctp", "SCTP"],
]);
const FAMILY = { IPv4: "ipv4", IPv6: "ipv6" } as const satisfies Record<Family, string>;
/** The fields of a tuple; a line has each twice. */
const TWICE = ["src", "dst", "sport", "dport"];
/** TCP without a reply. */
const UNANSWERED = ["--state", "SYN_SENT"];

/** Arguments that list the entries of `filter`. */
export function listArguments(filter: EntryFilter): string[] {
  const { family, protocol, destination, unanswered } = filter;
  return [
    ...["-L", "-f", FAMILY[family], "-o", "id"],
    ...(protocol === undefined ? [] : ["-p", protocol.toLowerCase()]),
    // The program can select unanswered entries for TCP only.
    ...(unanswered && protocol === "TCP" ? UNANSWERED : []),
    ...(destination === undefined ? [] : ["--orig-dst", addressFromHex(destination).text]),
  ];
}

/**
 * Parses a line of `conntrack -L -o id`. Undefined if it is malformed, or of another protocol or family.
 *
 *     udp 17 29 src=10.1.0.11 dst=241.0.0.1 sport=4000 dport=53 [UNREPLIED] src=10.1.0.12 … mark=0 zone=7 id=42
 */
export function parseLine(line: string, family: Family): Entry | undefined {
  const words = line.split(/\s+/);
  const protocol = PROTOCOLS.get(words[0] ?? "");
  if (protocol === undefined) return undefined;
  const found = new Map<string, string[]>();
  for (const word of words) {
    const equals = word.indexOf("=");
    if (equals < 0) continue;
    const name = word.slice(0, equals);
    const values = found.get(name);
    if (values === undefined) found.set(name, [word.slice(equals + 1)]);
    else values.push(word.slice(equals + 1));
  }
  if (TWICE.some((name) => found.get(name)?.length !== 2)) return undefined;
  const number = (name: string, limit: number) => numberIn(found.get(name)?.[0], limit);
  const original = tupleOf(found, 0, family, number("zone-orig", 0xffff));
  const reply = tupleOf(found, 1, family, number("zone-reply", 0xffff));
  if (original === undefined || reply === undefined) return undefined;
  const id = number("id", 0xffffffff);
  const zone = number("zone", 0xffff);
  const tcp = protocol === "TCP" ? TCP_STATES.find((state) => words.includes(state)) : undefined;
  const replied = !words.includes("[UNREPLIED]");
  return {
    ...{ family, protocol, original, reply, replied },
    ...(id !== undefined && { id }),
    ...(zone !== undefined && { zone }),
    ...(tcp !== undefined && { tcp }),
  };
}

/**
 * Argument lists that delete these entries. Each call scans the whole table, so DNATed entries are deleted by destination and
 * endpoint, for all clients at once, and so are untranslated UDP entries: if one is stale, all are. Of untranslated TCP and
 * SCTP entries only some are, so each is named; of DNATed TCP entries, unanswered ones have a call of their own.
 */
export function deleteArguments(entries: readonly Entry[]): string[][] {
  const calls = new Map<string, string[]>();
  for (const entry of entries) {
    const call = selector(entry);
    calls.set(call.join(" "), call);
  }
  return [...calls.values()];
}

function selector(entry: Entry): string[] {
  const { family, protocol, original, reply, tcp } = entry;
  const text = (hex: string) => addressFromHex(hex).text;
  const translated =
    reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
  const zone = original.zone === undefined ? entry.zone : undefined;
  return [
    ...["-D", "-f", FAMILY[family], "-p", protocol.toLowerCase()],
    ...(tcp === "SYN_SENT" ? UNANSWERED : []),
    ...["--orig-dst", text(original.destination), "--orig-port-dst", `${original.destinationPort}`],
    ...["--reply-src", text(reply.source), "--reply-port-src", `${reply.sourcePort}`],
    ...(translated || protocol === "UDP"
      ? []
      : ["--orig-src", text(original.source), "--orig-port-src", `${original.sourcePort}`]),
    ...(zone === undefined ? [] : ["-w", `${zone}`]),
    ...(original.zone === undefined ? [] : ["--orig-zone", `${original.zone}`]),
  ];
}

function tupleOf(
  found: ReadonlyMap<string, readonly string[]>,
  direction: 0 | 1,
  family: Family,
  zone: number | undefined,
): Tuple | undefined {
  const value = (name: string) => found.get(name)?.[direction];
  const source = hexOf(value("src"), family);
  const destination = hexOf(value("dst"), family);
  const sourcePort = numberIn(value("sport"), 0xffff);
  const destinationPort = numberIn(value("dport"), 0xffff);
  if (source === undefined || destination === undefined) return undefined;
  if (sourcePort === undefined || destinationPort === undefined) return undefined;
  const tuple = { source, destination, sourcePort, destinationPort };
  return zone === undefined ? tuple : { ...tuple, zone };
}

function hexOf(text: string | undefined, family: Family): string | undefined {
  const address = parseAddress(text ?? "");
  return isAddress(address) && address.family === family ? address.hex : undefined;
}

function numberIn(text: string | undefined, limit: number): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const value = Number(text);
  return value <= limit ? value : undefined;
}
