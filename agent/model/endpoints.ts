import { addressFromHex, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { Interner, type Place } from "./interner.ts";

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
/** Bytes of an endpoint after its address: its condition, and two for its place. */
const REST = 3;

/**
 * The endpoints of one slice, in its order. A clusterset may have a million of them: they are kept in some
 * seven bytes each (nineteen for IPv6), and become objects one by one while somebody walks them. Immutable.
 *
 * Per endpoint: the address, most significant byte first; the condition; the index of the place.
 */
export class Endpoints implements Iterable<EndpointFact> {
  // Not #private: what compares values by their structure has to see them.
  private readonly family: Family;
  private readonly bytes: Uint8Array;
  private readonly places: readonly Place[];

  private constructor(family: Family, bytes: Uint8Array, places: readonly Place[]) {
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
    const list = Array.isArray(endpoints) ? endpoints : [...endpoints];
    const width = widthOf(family);
    const bytes = new Uint8Array(list.length * (width + REST));
    const indexes = new Map<Place, number>();
    let at = 0;
    for (const { address, condition, nodeName, zone } of list) {
      writeAddress(address, family, bytes, at);
      const place = interner.place(nodeName, zone);
      const index = indexes.get(place) ?? indexes.size;
      indexes.set(place, index);
      bytes[at + width] = CONDITIONS.indexOf(condition);
      bytes[at + width + 1] = index >> 8;
      bytes[at + width + 2] = index & 255;
      at += width + REST;
    }
    return new Endpoints(family, bytes, [...indexes.keys()]);
  }

  /** How many there are. */
  get length(): number {
    return this.bytes.length / (widthOf(this.family) + REST);
  }

  /** The endpoint at `index`; undefined if there is none. */
  at(index: number): EndpointFact | undefined {
    const width = widthOf(this.family);
    const from = index * (width + REST);
    const condition = CONDITIONS[this.bytes[from + width] ?? -1];
    if (condition === undefined) return undefined;
    const high = this.bytes[from + width + 1] ?? 0;
    const low = this.bytes[from + width + 2] ?? 0;
    const place = this.places[high * 256 + low];
    return { address: readAddress(this.family, this.bytes, from), condition, ...place };
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

function writeAddress(text: string, family: Family, bytes: Uint8Array, at: number): void {
  const address = parseAddress(text);
  if (!isAddress(address) || address.family !== family) {
    throw new RangeError(`${text} is no ${family} address`);
  }
  for (let i = 0; i < address.hex.length / 2; i++) {
    bytes[at + i] = Number.parseInt(address.hex.slice(2 * i, 2 * i + 2), 16);
  }
}

function readAddress(family: Family, bytes: Uint8Array, at: number): string {
  if (family === "IPv4") {
    return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  }
  let hex = "";
  for (let i = 0; i < 16; i++) hex += (bytes[at + i] ?? 0).toString(16).padStart(2, "0");
  return addressFromHex(hex).text;
}
