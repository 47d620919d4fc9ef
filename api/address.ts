/** The two IP families, spelled as Kubernetes spells them (`addressType`, `ipFamilies`). */
export type Family = "IPv4" | "IPv6";

/** The families, in the order in which everything that walks both of them does. */
export const FAMILIES: readonly Family[] = ["IPv4", "IPv6"];

/**
 * One IP address in canonical form. `text` is what the kernel tools print (dotted decimal; RFC 5952 for
 * IPv6), so two spellings of one address are equal strings. `hex` holds the address as 8 or 32
 * lower-case hexadecimal digits: prefixes of it are prefixes of the address, four bits a digit.
 */
export interface Address {
  readonly family: Family;
  readonly text: string;
  readonly hex: string;
}

/** Why a text is not an address that may reach the kernel. */
export type AddressFault = "invalid-address" | "mapped-address" | "zoned-address";

/**
 * Parses one address strictly. Refused are all spellings on which parsers disagree (octal `010.0.0.1`,
 * shortened `10.1`, hexadecimal, surrounding blanks): a text that two programs read differently would let
 * another cluster aim a node's DNAT at a place that its own checks never saw. IPv4 addresses embedded in
 * IPv6 (RFC 4291 2.5.5) and zones (RFC 4007) have words of their own, because people do write them.
 */
export function parseAddress(text: string): Address | AddressFault {
  if (text.length > 64) return "invalid-address";
  if (!text.includes(":")) return parseV4(text);
  if (text.includes("%")) return "zoned-address";
  return parseV6(text);
}

/** True if `parseAddress` gave an address rather than the reason why not. */
export function isAddress(parsed: Address | AddressFault): parsed is Address {
  return typeof parsed !== "string";
}

function parseV4(text: string): Address | AddressFault {
  const octets = v4Octets(text);
  if (octets === undefined) return "invalid-address";
  return { family: "IPv4", text, hex: octets.map((octet) => hexOf(octet, 2)).join("") };
}

function v4Octets(text: string): number[] | undefined {
  if (!/^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(text)) return undefined;
  const parts = text.split(".");
  const octets = parts.map(Number);
  const canonical = octets.every((octet, i) => octet <= 255 && String(octet) === parts[i]);
  return canonical ? octets : undefined;
}

function parseV6(text: string): Address | AddressFault {
  if (!/^[0-9a-fA-F:.]+$/.test(text)) return "invalid-address";
  const halves = text.split("::");
  if (halves.length > 2) return "invalid-address";
  const head = v6Groups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? v6Groups(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return "invalid-address";
  const missing = 8 - head.length - tail.length;
  // "::" stands for at least one group (RFC 4291 2.2).
  if (halves.length === 2 ? missing < 1 : missing !== 0) return "invalid-address";
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  const hex = groups.map((group) => hexOf(group, 4)).join("");
  // ::ffff:a.b.c.d, and the deprecated ::a.b.c.d, which the C library prints dotted, as no one else does.
  const embedded = hex.startsWith("0".repeat(24)) && groups[6] !== 0;
  if (embedded || hex.startsWith("00000000000000000000ffff")) return "mapped-address";
  return { family: "IPv6", text: formatV6(groups), hex };
}

/** The 16-bit groups of one side of `::`; a dotted IPv4 address may end it, and counts as two groups. */
function v6Groups(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const octets = last && i === parts.length - 1 ? v4Octets(part) : undefined;
      if (octets === undefined) return undefined;
      const [a = 0, b = 0, c = 0, d = 0] = octets;
      groups.push(a * 256 + b, c * 256 + d);
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

/** The address whose digits are `hex` (8 of them for IPv4, 32 for IPv6). */
export function addressFromHex(hex: string): Address {
  if (hex.length === 8) {
    const octets = hex.match(/../g) ?? [];
    return {
      family: "IPv4",
      text: octets.map((octet) => Number.parseInt(octet, 16)).join("."),
      hex,
    };
  }
  const groups = (hex.match(/..../g) ?? []).map((group) => Number.parseInt(group, 16));
  return { family: "IPv6", text: formatV6(groups), hex };
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
