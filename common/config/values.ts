import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, familiesIn, isCidr, ofFamily, overlap, parseCidr } from "../../api/cidr.ts";
import type { HttpAddress } from "../http.ts";

/** A parsed value, or what was expected instead. */
export type Read<T> = { readonly value: T } | { readonly expected: string };

/** Parses the text of a flag. PURE. */
export type Reader<T> = (text: string) => Read<T>;

/** A text that `accepts` returns true for. */
export function text(accepts: (text: string) => boolean, expected: string): Reader<string> {
  return (given) => (accepts(given) ? { value: given } : { expected });
}

/** One of a few words. */
export function oneOf<Word extends string>(words: readonly Word[]): Reader<Word> {
  return (given) => {
    const word = words.find((candidate) => candidate === given);
    return word === undefined ? { expected: `expected ${orList(words)}` } : { value: word };
  };
}

/** Some of a few words, separated by commas; an empty text is an empty list. */
export function someOf<Word extends string>(words: readonly Word[]): Reader<readonly Word[]> {
  const one = oneOf(words);
  return (given) => {
    const chosen: Word[] = [];
    for (const part of given === "" ? [] : given.split(",")) {
      const read = one(part.trim());
      if ("expected" in read) {
        return { expected: `${JSON.stringify(part.trim())} is unknown; ${read.expected}` };
      }
      chosen.push(read.value);
    }
    return { value: chosen };
  };
}

/** Texts that `accepts` returns true for, separated by commas; an empty text is an empty list. */
export function listOf(
  accepts: (text: string) => boolean,
  expected: string,
): Reader<readonly string[]> {
  return (given) => {
    const parts = given === "" ? [] : given.split(",").map((part) => part.trim());
    const wrong = parts.find((part) => !accepts(part));
    if (wrong === undefined) return { value: parts };
    return { expected: `${JSON.stringify(wrong)} is not ${expected}` };
  };
}

/** Pairs like those of `example`, separated by commas, each key once; an empty text is an empty map. */
export function mapOf(
  isKey: (text: string) => boolean,
  isValue: (text: string) => boolean,
  example: string,
): Reader<ReadonlyMap<string, string>> {
  return (given) => {
    const map = new Map<string, string>();
    for (const part of given === "" ? [] : given.split(",")) {
      const [key = "", value = "", ...rest] = part.trim().split("=");
      if (!isKey(key) || !isValue(value) || rest.length > 0) {
        return { expected: `expected pairs like ${example}` };
      }
      if (map.has(key)) return { expected: `names ${key} twice` };
      map.set(key, value);
    }
    return { value: map };
  };
}

/** Like `read`, but an empty text is undefined. */
export function optional<T>(read: Reader<T>): Reader<T | undefined> {
  return (given) => (given === "" ? { value: undefined } : read(given));
}

/** Ranges, separated by commas; an empty text is an empty list. */
export const cidrs: Reader<readonly Cidr[]> = (given) => {
  const ranges: Cidr[] = [];
  for (const part of given === "" ? [] : given.split(",")) {
    const cidr = parseCidr(part.trim());
    if (!isCidr(cidr)) {
      const why = cidr === "host-bits-set" ? "has bits set beyond its prefix" : "is not a range";
      return { expected: `${JSON.stringify(part.trim())} ${why}; expected ranges like 10.0.0.0/8` };
    }
    ranges.push(cidr);
  }
  return { value: ranges };
};

/** Addresses that the ClusterSet CIDR must not contain: they would be unreachable from the node. */
const OWN_USE = [
  ["0.0.0.0/8", "the unspecified network"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local addresses"],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "the broadcast address"],
  ["::/127", "the unspecified address and loopback"],
  ["fe80::/10", "link-local addresses"],
  ["ff00::/8", "multicast"],
] as const;

/** The most ranges of one family: while it changes, the new one and the old one (docs/guides/clusterset-cidr.md). */
const MOST_RANGES = 2;

/** The ClusterSet CIDRs: one range, or one per family, or two of a family. */
export const clusterSetCidrs: Reader<readonly Cidr[]> = (given) => {
  const read = cidrs(given);
  if ("expected" in read) return read;
  if (read.value.length === 0) return { expected: "expected one range, or one per IP family" };
  for (const family of familiesIn(read.value)) {
    const { length } = ofFamily(read.value, family);
    if (length > MOST_RANGES) {
      return {
        expected: `has ${length} ${family} ranges; expected one, or ${MOST_RANGES} while the range changes`,
      };
    }
  }
  for (const [i, cidr] of read.value.entries()) {
    const wide = read.value.slice(0, i).find((one) => one.bits <= cidr.bits && overlap(one, cidr));
    if (wide !== undefined) return { expected: `${cidr.text} is a part of ${wide.text}` };
  }
  for (const cidr of read.value) {
    const held = OWN_USE.find(([range]) => overlaps(cidr, range));
    if (held !== undefined) return { expected: `${cidr.text} holds ${held[1]} (${held[0]})` };
  }
  return read;
};

/** Seconds, with or without the unit: `30s`. */
export function seconds(least: number, most: number): Reader<number> {
  return (given) => {
    const [, digits] = /^(\d{1,6})s?$/.exec(given) ?? [];
    const number = Number(digits ?? Number.NaN);
    if (number >= least && number <= most) return { value: number };
    return { expected: `expected seconds, ${least}s to ${most}s` };
  };
}

/** A whole number. */
export function count(least: number, most: number): Reader<number> {
  return (given) => {
    const number = /^\d{1,12}$/.test(given) ? Number(given) : Number.NaN;
    if (number >= least && number <= most) return { value: number };
    return { expected: `expected a number, ${least} to ${most}` };
  };
}

/** `address:port`, with IPv6 in brackets; undefined for `off` or an empty text. */
export const listenAddress: Reader<HttpAddress | undefined> = (given) => {
  if (given === "" || given === "off") return { value: undefined };
  const [, v6, v4, port = ""] = /^(?:\[(.*)\]|([^:]*)):(\d{1,5})$/.exec(given) ?? [];
  const host = parseAddress(v6 ?? v4 ?? "");
  const number = Number(port);
  const expected = "expected an IP address and a port, 127.0.0.1:10269 or [::1]:10269, or off";
  if (!isAddress(host) || (host.family === "IPv6") !== (v6 !== undefined)) return { expected };
  return number <= 65_535 ? { value: { host: host.text, port: number } } : { expected };
};

/** `a, b or c`. */
export function orList(words: readonly string[]): string {
  const [last = "", ...others] = [...words].reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
}

function overlaps(cidr: Cidr, range: string): boolean {
  const other = parseCidr(range);
  return isCidr(other) && overlap(cidr, other);
}
