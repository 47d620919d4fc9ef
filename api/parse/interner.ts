import type { Port } from "../protocol.ts";

/** The node and zone of an endpoint, as its slice names them. */
export interface Place {
  readonly nodeName?: string;
  readonly zone?: string;
}

/** Up to 65,536 places by index. It only grows, so that an index stays valid. */
export class PlaceTable {
  readonly #indexes = new Map<string, number>();
  readonly places: Place[] = [];

  /** Number of free indexes. */
  get room(): number {
    return 65_536 - this.places.length;
  }

  /** The index of a place. */
  indexOf(nodeName: string | undefined, zone: string | undefined): number {
    // Neither name can contain a space.
    const key = `${nodeName ?? ""} ${zone ?? ""}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.places.length;
    this.#indexes.set(key, index);
    this.places.push({
      ...(nodeName !== undefined && { nodeName }),
      ...(zone !== undefined && { zone }),
    });
    return index;
  }
}

/** Shares one copy of equal values: otherwise, the names of a few nodes would be in memory a million times. */
export class Interner {
  readonly #most: number;
  readonly #texts = new Map<string, string>();
  readonly #ports = new Map<string, readonly Port[]>();
  #places = new PlaceTable();

  /** `most`: maximum distinct values; then all are forgotten, which limits memory. */
  constructor(most = 50_000) {
    this.#most = most;
  }

  /** The shared copy of a text. */
  text(text: string): string {
    return known(this.#texts, text, this.#most, () => text);
  }

  /** The shared copy of a list of ports. */
  ports(ports: readonly Port[]): readonly Port[] {
    const key = ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`).join();
    return known(this.#ports, key, this.#most, () => ports);
  }

  /** A table with `count` free indexes. */
  places(count: number): PlaceTable {
    if (this.#places.room < count) this.#places = new PlaceTable();
    return this.#places;
  }
}

function known<T>(all: Map<string, T>, key: string, most: number, make: () => T): T {
  const before = all.get(key);
  if (before !== undefined) return before;
  if (all.size >= most) all.clear();
  const made = make();
  all.set(key, made);
  return made;
}
