import type { Family } from "../../../api/address.ts";

/**
 * Pieces of rules, spelled to the letter as iptables-save prints them (1.8.9, both flavours): what was
 * written can then be compared with what is read back, and a restart rewrites nothing.
 */

/** Characters of a comment, less the terminating zero (XT_MAX_COMMENT_LEN 256). */
const LONGEST_COMMENT = 255;
/** xt_statistic counts in 31 bits. */
const WHOLE = 2 ** 31;

/** `-m comment --comment …`, quoted where iptables-save quotes; a text that is too long is cut. */
export function comment(text: string): string {
  const cut = text.length > LONGEST_COMMENT ? `${text.slice(0, LONGEST_COMMENT - 3)}...` : text;
  // xtables_save_string leaves exactly these characters unquoted.
  return `-m comment --comment ${/^[A-Za-z0-9_-]+$/.test(cut) ? cut : `"${cut}"`}`;
}

/**
 * `-m statistic …` that is true once in `n` times. iptables rounds the probability to k / 2^31 and prints it
 * with eleven digits, halves to even, which `toFixed` does not: 0.1 comes back as 0.10000000009, and 1/4096 as
 * 0.00024414062.
 */
export function oneIn(n: number): string {
  const scaled = BigInt(Math.round(WHOLE / n)) * 10n ** 11n;
  const whole = BigInt(WHOLE);
  const down = scaled / whole;
  const rest = 2n * (scaled % whole);
  const up = rest > whole || (rest === whole && down % 2n === 1n);
  const digits = String(up ? down + 1n : down).padStart(11, "0");
  return `-m statistic --mode random --probability 0.${digits}`;
}

/** Matches a client that chose the endpoint behind `list` in the last `seconds`, and starts them anew. */
export function remembered(list: string, seconds: number, family: Family): string {
  return `-m recent --update --seconds ${seconds} --reap ${listOf(list, family)}`;
}

/** Always matches, and remembers that the client chose the endpoint behind `list`. */
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
  // iptables-save leaves the length of a single address away here, and only here.
  const width = family === "IPv4" ? "/32" : "/128";
  const original = range.endsWith(width) ? range.slice(0, -width.length) : range;
  return `-m conntrack --ctstate DNAT --ctorigdst ${original}`;
}
