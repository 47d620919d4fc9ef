/** Counts the imports that need an address, and records changes between none and some. */
export class Claims {
  readonly #counts = new Map<string, number>();
  #changed = new Map<string, boolean>();

  change(before: readonly string[], after: readonly string[]): void {
    for (const address of before) this.#count(address, -1);
    for (const address of after) this.#count(address, 1);
  }

  /** All needed addresses if `complete`, else the changes since the last call. */
  take(complete: boolean): Map<string, boolean> {
    const changed = this.#changed;
    this.#changed = new Map();
    return complete ? new Map([...this.#counts.keys()].map((one) => [one, true])) : changed;
  }

  #count(address: string, by: 1 | -1): void {
    const count = (this.#counts.get(address) ?? 0) + by;
    if (count === 0) this.#counts.delete(address);
    else this.#counts.set(address, count);
    this.#changed.set(address, count > 0);
  }
}
