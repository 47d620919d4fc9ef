import type { Port } from "../protocol.ts";

/** The node and zone of an endpoint, as its slice names them. */
export interface Place {
  readonly nodeName?: string;
  readonly zone?: string;
}

/** Characters of names in a table of places, and in the values of an `Interner`, before a new one begins. */
const MOST_CHARACTERS = 2 ** 21;

/** Up to 65,536 places by index. It only grows, so that an index stays valid. */
export class PlaceTable {
  readonly #indexes = new Map<string, number>();
  readonly places: Place[] = [];
  #characters = 0;

  /** Number of free indexes; none if the names are too long. */
  get room(): number {
    return this.#characters > MOST_CHARACTERS ? 0 : 65_536 - this.places.length;
  }

  /** The index of a place. */
  indexOf(nodeName: string | undefined, zone: string | undefined): number {
    // Neither name can contain a space.
    const key = `${nodeName ?? ""} ${zone ?? ""}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.places.length;
    this.#indexes.set(key, index);
    this.#characters += key.length;
    this.places.push({
      ...(nodeName !== undefined && { nodeName }),
      ...(zone !== undefined && { zone }),
    });
    return index;
  }
}

/** Shares one copy of equal values: otherwise, the names of a few nodes would be in memory a million times. */
export class Interner {
  readonly #texts: Shared<string>;
  readonly #ports: Shared<readonly Port[]>;
  #places = new PlaceTable();

  /** `most`: maximum distinct values of a kind. */
  constructor(most = 50_000) {
    this.#texts = new Shared(most);
    this.#ports = new Shared(most);
  }

  /** The shared copy of a text. */
  text(text: string): string {
    return this.#texts.copy(text, text);
  }

  /** The shared copy of a list of ports. */
  ports(ports: readonly Port[]): readonly Port[] {
    const key = ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`).join();
    return this.#ports.copy(key, ports);
  }

  /** A table with `count` free indexes. */
  places(count: number): PlaceTable {
    if (this.#places.room < count) this.#places = new PlaceTable();
    return this.#places;
  }
}

/** Values by key. All are forgotten when there are too many, or too long ones: a tenant chooses them. */
class Shared<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  copy(key: string, value: Value): Value {
    const before = this.#values.get(key);
    if (before !== undefined) return before;
    if (this.#values.size >= this.#most || this.#characters > MOST_CHARACTERS) {
      this.#values.clear();
      this.#characters = 0;
    }
    this.#values.set(key, value);
    this.#characters += key.length;
    return value;
  }
}
