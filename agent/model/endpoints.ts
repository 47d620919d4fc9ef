import { addressFromHex, type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { Interner, type Place } from "../../api/parse/interner.ts";

/** The conditions of an endpoint as one word. `serving` (not ready) and `terminating` endpoints accept connections. */
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

/**
 * The endpoints of one slice, in order, packed because a clusterset may have a million: per endpoint the address, the
 * condition, and the index of its place in a table of the interner. The bytes are characters of a string, in V8's heap:
 * typed arrays would fragment memory outside of it (50 MB, measured).
 */
export class Endpoints implements Iterable<EndpointFact> {
  // Not #private: structural comparison has to see them.
  private readonly family: Family;
  private readonly bytes: string;
  private readonly places: readonly Place[];

  private constructor(family: Family, bytes: string, places: readonly Place[]) {
    this.family = family;
    this.bytes = bytes;
    this.places = places;
  }

  /** Packs at most 65,536 endpoints. Throws RangeError for an address of another family. */
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
      bytes.push(...addressBytes(address, family));
      bytes.push(CONDITIONS.indexOf(condition), index >> 8, index & 255);
    }
    return new Endpoints(family, Buffer.from(bytes).toString("latin1"), table.places);
  }

  /** Number of endpoints. */
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

  /** About how many bytes they take, with the names of their nodes and zones: a table of places holds each twice. */
  get size(): number {
    const size = widthOf(this.family) + REST;
    const used = new Set<number>();
    for (let at = size - 2; at < this.bytes.length; at += size)
      used.add(this.bytes.charCodeAt(at) * 256 + this.bytes.charCodeAt(at + 1));
    let sum = this.bytes.length;
    for (const index of used) {
      const { nodeName = "", zone = "" } = this.places[index] ?? {};
      sum += 2 * (nodeName.length + zone.length);
    }
    return sum;
  }

  /** The first `count` endpoints. */
  first(count: number): Endpoints {
    const bytes = this.bytes.slice(0, count * (widthOf(this.family) + REST));
    return new Endpoints(this.family, bytes, this.places);
  }

  /** As `first`, without the memory of the others: part of a string keeps the whole. */
  cut(count: number): Endpoints {
    const size = widthOf(this.family) + REST;
    const bytes = Buffer.from(this.bytes.slice(0, count * size), "latin1");
    const indexes = new Map<number, number>();
    for (let at = size - 2; at < bytes.length; at += size) {
      const before = bytes.readUInt16BE(at);
      const index = indexes.get(before) ?? indexes.size;
      indexes.set(before, index);
      bytes.writeUInt16BE(index, at);
    }
    const places = [...indexes.keys()].flatMap((index) => this.places[index] ?? []);
    return new Endpoints(this.family, bytes.toString("latin1"), places);
  }

  /** The endpoints in one of `ranges`, and the addresses of the others. Compares bytes, because all are compared with every plan. */
  within(ranges: readonly Cidr[]): { readonly inside: Endpoints; readonly outside: string[] } {
    const width = widthOf(this.family);
    const prefixes = ranges.filter(({ family }) => family === this.family).map(prefixOf);
    const outside: string[] = [];
    let inside = "";
    for (let from = 0; from < this.bytes.length; from += width + REST) {
      const matches = prefixes.some(({ whole, mask, rest }) => {
        const next = this.bytes.charCodeAt(from + whole.length);
        return this.bytes.startsWith(whole, from) && (mask === 0 || (next & mask) === rest);
      });
      if (matches) inside += this.bytes.slice(from, from + width + REST);
      else outside.push(readAddress(this.family, this.bytes, from));
    }
    if (outside.length === 0) return { inside: this, outside };
    return { inside: new Endpoints(this.family, inside, this.places), outside };
  }

  /** Whether one of these canonical addresses is among them. */
  includeAny(addresses: ReadonlySet<string>): boolean {
    if (addresses.size === 0) return false;
    const width = widthOf(this.family);
    for (let from = 0; from < this.bytes.length; from += width + REST) {
      if (addresses.has(readAddress(this.family, this.bytes, from))) return true;
    }
    return false;
  }

  *[Symbol.iterator](): Generator<EndpointFact> {
    for (let i = 0; i < this.length; i++) {
      const endpoint = this.at(i);
      if (endpoint !== undefined) yield endpoint;
    }
  }
}

/** The whole bytes of a range, and the bits of the next one. */
function prefixOf({ hex, bits }: Cidr) {
  const bytes = Buffer.from(hex, "hex");
  const length = bits >> 3;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return {
    whole: bytes.subarray(0, length).toString("latin1"),
    mask,
    rest: (bytes[length] ?? 0) & mask,
  };
}

function widthOf(family: Family): number {
  return family === "IPv4" ? 4 : 16;
}

function addressBytes(text: string, family: Family): Buffer {
  const address = parseAddress(text);
  if (!isAddress(address) || address.family !== family) {
    throw new RangeError(`${text} is not an ${family} address`);
  }
  return Buffer.from(address.hex, "hex");
}

function readAddress(family: Family, bytes: string, at: number): string {
  const byte = (i: number): number => bytes.charCodeAt(at + i);
  if (family === "IPv4") return `${byte(0)}.${byte(1)}.${byte(2)}.${byte(3)}`;
  return addressFromHex(Buffer.from(bytes.slice(at, at + 16), "latin1").toString("hex")).text;
}
