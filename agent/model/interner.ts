/**
 * Gives equal texts one copy. What is read from an API server comes as a new copy for each object: the names
 * of a few nodes would be kept a million times.
 */
export class Interner {
  readonly #most: number;
  readonly #texts = new Map<string, string>();
  readonly #places = new Map<string, Place>();

  /** `most`: beyond so many different texts all are forgotten: whoever invents names must not fill the memory. */
  constructor(most = 50_000) {
    this.#most = most;
  }

  /** An equal text: the one that was given first. */
  text(text: string): string {
    return known(this.#texts, text, this.#most, () => text);
  }

  /** An equal place, always the same object while it is remembered. */
  place(nodeName: string | undefined, zone: string | undefined): Place {
    // Neither kind of name holds a blank.
    return known(this.#places, `${nodeName ?? ""} ${zone ?? ""}`, this.#most, () => ({
      ...(nodeName !== undefined && { nodeName: this.text(nodeName) }),
      ...(zone !== undefined && { zone: this.text(zone) }),
    }));
  }
}

/** Where an endpoint runs, as far as its slice says. */
export interface Place {
  readonly nodeName?: string;
  readonly zone?: string;
}

function known<T>(all: Map<string, T>, key: string, most: number, make: () => T): T {
  const before = all.get(key);
  if (before !== undefined) return before;
  if (all.size >= most) all.clear();
  const made = make();
  all.set(key, made);
  return made;
}
