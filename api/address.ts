/** The two IP families, spelled as Kubernetes spells them (`addressType`, `ipFamilies`). */
export type Family = "IPv4" | "IPv6";

/** All families, in the order of every iteration. */
export const FAMILIES: readonly Family[] = ["IPv4", "IPv6"];

/** An IP address in canonical form. */
export interface Address {
  readonly family: Family;
  /** As kernel tools print it: dotted decimal, or RFC 5952. Equal addresses have equal texts. */
  readonly text: string;
  /** 8 or 32 lower-case hexadecimal digits. */
  readonly hex: string;
}

/** Why a text is not a valid address. */
export type AddressFault = "invalid-address" | "mapped-address" | "zoned-address";

/**
 * Parses an address strictly. Spellings on which parsers disagree (octal `010.0.0.1`, shortened `10.1`, hexadecimal) are
 * rejected: otherwise, another cluster could direct DNAT to an address that this program's checks read differently.
 */
export function parseAddress(text: string): Address | AddressFault {
  if (text.length > 64) return "invalid-address";
  if (!text.includes(":")) return parseV4(text);
  if (text.includes("%")) return "zoned-address";
  return parseV6(text);
}

/** True for an address, false for a fault. */
export function isAddress(parsed: Address | AddressFault): parsed is Address {
  return typeof parsed !== "string";
}

/** The valid ones of these texts, in canonical form. */
export function canonicalAddresses(texts: readonly string[]): string[] {
  return texts
    .map(parseAddress)
    .filter(isAddress)
    .map(({ text }) => text);
}

function parseV4(text: string): Address | AddressFault {
  const number = v4Number(text);
  if (number === undefined) return "invalid-address";
  return { family: "IPv4", text, hex: hexOf(number, 8) };
}

const [ZERO, NINE, DOT] = [0x30, 0x39, 0x2e];

/**
 * Four numbers from 0 to 255 without leading zeros. Without a regular expression, because every address of hundreds of thousands of endpoints is parsed
 * more than once.
 */
function v4Number(text: string): number | undefined {
  let [number, octet, dots, begin] = [0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (i === begin) return undefined;
      number = number * 256 + octet;
      [octet, begin] = [0, i + 1];
      if (++dots > 3) return undefined;
    } else {
      if (code < ZERO || code > NINE || (i > begin && octet === 0)) return undefined;
      octet = octet * 10 + code - ZERO;
      if (octet > 255) return undefined;
    }
  }
  return dots === 3 && begin < text.length ? number * 256 + octet : undefined;
}

function parseV6(text: string): Address | AddressFault {
  if (!/^[0-9a-fA-F:.]+$/.test(text)) return "invalid-address";
  const halves = text.split("::");
  if (halves.length > 2) return "invalid-address";
  const head = v6Groups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? v6Groups(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return "invalid-address";
  const missing = 8 - head.length - tail.length;
  // "::" replaces at least one group (RFC 4291 2.2).
  if (halves.length === 2 ? missing < 1 : missing !== 0) return "invalid-address";
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  const hex = groups.map((group) => hexOf(group, 4)).join("");
  // ::ffff:a.b.c.d, and the deprecated ::a.b.c.d, which the C library prints differently from RFC 5952.
  const embedded = hex.startsWith("0".repeat(24)) && groups[6] !== 0;
  if (embedded || hex.startsWith("00000000000000000000ffff")) return "mapped-address";
  return { family: "IPv6", text: formatV6(groups), hex };
}

/** The 16-bit groups of one side of `::`; an IPv4 address at the end counts as two groups. */
function v6Groups(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const number = last && i === parts.length - 1 ? v4Number(part) : undefined;
      if (number === undefined) return undefined;
      groups.push(number >>> 16, number & 0xffff);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

/** RFC 5952 4: lower case, no leading zeros, the first longest run of two or more zero groups as `::`. */
function formatV6(groups: readonly number[]): string {
  let start = -1;
  let length = 1;
  for (let i = 0; i < groups.length; i++) {
    let run = 0;
    while (groups[i + run] === 0) run++;
    if (run > length) [start, length] = [i, run];
    i += run;
  }
  const words = groups.map((group) => group.toString(16));
  if (start < 0) return words.join(":");
  return `${words.slice(0, start).join(":")}::${words.slice(start + length).join(":")}`;
}

/** The address with these 8 (IPv4) or 32 (IPv6) hexadecimal digits. */
export function addressFromHex(hex: string): Address {
  if (hex.length === 8) {
    const bits = Number.parseInt(hex, 16);
    const text = [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
    return { family: "IPv4", text, hex };
  }
  const groups = (hex.match(/..../g) ?? []).map((group) => Number.parseInt(group, 16));
  return { family: "IPv6", text: formatV6(groups), hex };
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
