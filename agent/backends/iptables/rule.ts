import type { Family } from "../../../api/address.ts";

/** Parts of rules exactly as iptables-save prints them (1.8.9, both flavours), so that they can be compared with what is read. */

/** Characters of a comment without the terminating zero (XT_MAX_COMMENT_LEN 256). */
const LONGEST_COMMENT = 255;
/** xt_statistic counts in 31 bits. */
const WHOLE = 2 ** 31;

/** `-m comment --comment …`, quoted as iptables-save does; a text that is too long is cut. */
export function comment(text: string): string {
  const cut = text.length > LONGEST_COMMENT ? `${text.slice(0, LONGEST_COMMENT - 3)}...` : text;
  // xtables_save_string leaves exactly these characters unquoted.
  return `-m comment --comment ${/^[A-Za-z0-9_-]+$/.test(cut) ? cut : `"${cut}"`}`;
}

/**
 * `-m statistic …` that is true with this probability, more than 0 and less than 1. iptables rounds it to k / 2^31 and prints eleven digits,
 * with halves to even, which `toFixed` does not: 0.1 becomes 0.10000000009, and 1/4096 becomes 0.00024414062.
 */
export function withProbability(chance: number): string {
  const rounded = Math.min(Math.max(1, Math.round(WHOLE * chance)), WHOLE - 1);
  const scaled = BigInt(rounded) * 10n ** 11n;
  const whole = BigInt(WHOLE);
  const down = scaled / whole;
  const rest = 2n * (scaled % whole);
  const up = rest > whole || (rest === whole && down % 2n === 1n);
  const digits = String(up ? down + 1n : down).padStart(11, "0");
  return `-m statistic --mode random --probability 0.${digits}`;
}

/** Matches a client that used the endpoint of `list` in the last `seconds`, and restarts this period. */
export function remembered(list: string, seconds: number, family: Family): string {
  return `-m recent --update --seconds ${seconds} --reap ${listOf(list, family)}`;
}

/** Always matches, and adds the client to `list`. */
export function remember(list: string, family: Family): string {
  return `-m recent --set ${listOf(list, family)}`;
}

function listOf(list: string, family: Family): string {
  const mask = family === "IPv4" ? "255.255.255.255" : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  return `--name ${list} --mask ${mask} --rsource`;
}

/** `-j DNAT …` to an address and port. */
export function dnat(address: string, port: number, family: Family): string {
  return `-j DNAT --to-destination ${family === "IPv4" ? address : `[${address}]`}:${port}`;
}

/** `address/bits` of a single address. */
export function host(address: string, family: Family): string {
  return `${address}/${family === "IPv4" ? 32 : 128}`;
}

/** Matches packets whose connection was DNATed and was first addressed to `range`. */
export function wasAddressedTo(range: string, family: Family): string {
  // Here, and only here, iptables-save omits the prefix length of a single address.
  const width = family === "IPv4" ? "/32" : "/128";
  const original = range.endsWith(width) ? range.slice(0, -width.length) : range;
  return `-m conntrack --ctstate DNAT --ctorigdst ${original}`;
}
