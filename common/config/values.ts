import { type Address, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, isCidr, overlap, parseCidr } from "../../api/cidr.ts";

/** The value that a text stands for, or what was expected instead. */
export type Read<T> = { readonly value: T } | { readonly expected: string };

/** Reads the text of one flag. PURE. */
export type Reader<T> = (text: string) => Read<T>;

/** An IP address and a port to listen on. */
export interface ListenAddress {
  readonly host: Address;
  readonly port: number;
}

/** A text that `accepts` likes, as it is. */
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

/** Like `read`, but an empty text says that there is none. */
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

/** Addresses that a node uses for itself: a range that holds one would cut the node off from it. */
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

/** The ClusterSet CIDR: one range, or one per family. /0 fails, because it holds all of `OWN_USE`. */
export const clusterSetCidrs: Reader<readonly Cidr[]> = (given) => {
  const read = cidrs(given);
  if ("expected" in read) return read;
  const families = new Set(read.value.map((cidr) => cidr.family));
  if (families.size === 0) return { expected: "expected one range, or one per IP family" };
  if (families.size < read.value.length) {
    return { expected: "has two ranges of one IP family; expected one per family" };
  }
  for (const cidr of read.value) {
    const held = OWN_USE.find(([range]) => overlaps(cidr, range));
    if (held !== undefined) return { expected: `${cidr.text} holds ${held[1]} (${held[0]})` };
  }
  return read;
};

/** A number of seconds, with or without the unit: `30s`. */
export function seconds(least: number, most: number): Reader<number> {
  return (given) => {
    const [, digits] = /^(\d{1,6})s?$/.exec(given) ?? [];
    const number = Number(digits ?? Number.NaN);
    if (number >= least && number <= most) return { value: number };
    return { expected: `expected seconds, ${least}s to ${most}s` };
  };
}

/** `address:port`, with IPv6 in brackets; `off` or nothing means not to listen. */
export const listenAddress: Reader<ListenAddress | undefined> = (given) => {
  if (given === "" || given === "off") return { value: undefined };
  const [, v6, v4, port = ""] = /^(?:\[(.*)\]|([^:]*)):(\d{1,5})$/.exec(given) ?? [];
  const host = parseAddress(v6 ?? v4 ?? "");
  const number = Number(port);
  const expected = "expected an IP address and a port, 127.0.0.1:10269 or [::1]:10269, or off";
  if (!isAddress(host) || (host.family === "IPv6") !== (v6 !== undefined)) return { expected };
  return number <= 65_535 ? { value: { host, port: number } } : { expected };
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
