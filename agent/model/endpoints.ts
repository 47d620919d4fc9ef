import { addressFromHex, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { Interner, type Place } from "../../api/parse/interner.ts";

/**
 * The three conditions of an endpoint as one word. `terminating` and `serving` both still answer: the first
 * is shutting down, the second is not ready for another reason (for instance, its cluster is stale).
 */
export type EndpointCondition = "ready" | "serving" | "terminating" | "not-ready";

/** One endpoint of a slice: one address, as every consumer of EndpointSlices reads it (its first). */
export interface EndpointFact extends Place {
  /** Canonical address text, of the slice's family. */
  readonly address: string;
  readonly condition: EndpointCondition;
}

/** In the order of their numbers. */
const CONDITIONS: readonly EndpointCondition[] = ["ready", "serving", "terminating", "not-ready"];
/** Characters of an endpoint after its address: its condition, and two for its place. */
const REST = 3;
/** Arguments that one call takes for certain. */
const MOST_ARGUMENTS = 8192;

/**
 * The endpoints of one slice, in its order. A clusterset may have a million of them: they are kept in seven
 * bytes each (nineteen for IPv6), and become objects one by one while somebody walks them. Immutable.
 *
 * The bytes are the characters 0 to 255 of a text, which V8 keeps in as many bytes. A typed array would be the
 * plainer choice, but each has its memory outside of V8's heap: ten thousand small ones between the large
 * buffers of a connection leave holes there that cost more than the endpoints (50 MB, measured).
 *
 * Per endpoint: the address, most significant byte first; the condition; the number of its place in a table that
 * all endpoints of one interner share. So two are equal by their structure only if they were packed with the same
 * interner, or each with one of its own; otherwise they seem to differ, which costs no more than a look.
 */
export class Endpoints implements Iterable<EndpointFact> {
  // Not #private: what compares values by their structure has to see them.
  private readonly family: Family;
  private readonly bytes: string;
  private readonly places: readonly Place[];

  private constructor(family: Family, bytes: string, places: readonly Place[]) {
    this.family = family;
    this.bytes = bytes;
    this.places = places;
  }

  /** Packs endpoints, at most 65,536 of them. Throws RangeError for an address that is none of `family`. */
  static of(
    family: Family,
    endpoints: Iterable<EndpointFact>,
    interner: Interner = new Interner(),
  ): Endpoints {
    const list = [...endpoints];
    const table = interner.places(list.length);
    const bytes: number[] = [];
    for (const { address, condition, nodeName, zone } of list) {
      const index = table.indexOf(nodeName, zone);
      pushAddress(address, family, bytes);
      bytes.push(CONDITIONS.indexOf(condition), index >> 8, index & 255);
    }
    return new Endpoints(family, textOf(bytes), table.places);
  }

  /** How many there are. */
  get length(): number {
    return this.bytes.length / (widthOf(this.family) + REST);
  }

  /** The endpoint at `index`; undefined if there is none. */
  at(index: number): EndpointFact | undefined {
    const width = widthOf(this.family);
    const from = index * (width + REST);
    const condition = CONDITIONS[this.bytes.charCodeAt(from + width)];
    if (condition === undefined) return undefined;
    const place =
      this.bytes.charCodeAt(from + width + 1) * 256 + this.bytes.charCodeAt(from + width + 2);
    return {
      address: readAddress(this.family, this.bytes, from),
      condition,
      ...this.places[place],
    };
  }

  *[Symbol.iterator](): Generator<EndpointFact> {
    for (let i = 0; i < this.length; i++) {
      const endpoint = this.at(i);
      if (endpoint !== undefined) yield endpoint;
    }
  }
}

function widthOf(family: Family): number {
  return family === "IPv4" ? 4 : 16;
}

function pushAddress(text: string, family: Family, bytes: number[]): void {
  const address = parseAddress(text);
  if (!isAddress(address) || address.family !== family) {
    throw new RangeError(`${text} is no ${family} address`);
  }
  for (let i = 0; i < address.hex.length; i += 2) {
    bytes.push(Number.parseInt(address.hex.slice(i, i + 2), 16));
  }
}

function textOf(bytes: readonly number[]): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += MOST_ARGUMENTS) {
    text += String.fromCharCode(...bytes.slice(i, i + MOST_ARGUMENTS));
  }
  return text;
}

function readAddress(family: Family, bytes: string, at: number): string {
  const byte = (i: number): number => bytes.charCodeAt(at + i);
  if (family === "IPv4") return `${byte(0)}.${byte(1)}.${byte(2)}.${byte(3)}`;
  let hex = "";
  for (let i = 0; i < 16; i++) hex += byte(i).toString(16).padStart(2, "0");
  return addressFromHex(hex).text;
}
