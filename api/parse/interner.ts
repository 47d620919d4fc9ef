import type { Port } from "../port.ts";

/** Where an endpoint runs, as far as its slice says. */
export interface Place {
  readonly nodeName?: string;
  readonly zone?: string;
}

/** Places by number: as many as two bytes count. It only grows, so that a number keeps its meaning. */
export class PlaceTable {
  readonly #indexes = new Map<string, number>();
  readonly places: Place[] = [];

  /** How many more different places are sure to find room. */
  get room(): number {
    return 65_536 - this.places.length;
  }

  /** The number of a place. */
  indexOf(nodeName: string | undefined, zone: string | undefined): number {
    // Neither kind of name holds a blank.
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

/**
 * Gives equal values one copy. What is read from an API server comes as a new copy with each object: the names
 * of a few nodes would be kept a million times.
 */
export class Interner {
  readonly #most: number;
  readonly #texts = new Map<string, string>();
  readonly #ports = new Map<string, readonly Port[]>();
  #places = new PlaceTable();

  /** `most`: beyond so many different values all are forgotten: whoever invents names must not fill the memory. */
  constructor(most = 50_000) {
    this.#most = most;
  }

  /** An equal text: the one that was given first. */
  text(text: string): string {
    return known(this.#texts, text, this.#most, () => text);
  }

  /** An equal list of ports. */
  ports(ports: readonly Port[]): readonly Port[] {
    const key = ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`).join();
    return known(this.#ports, key, this.#most, () => ports);
  }

  /** A table with room for `count` more places. */
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
