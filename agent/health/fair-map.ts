/** A map of what namespaces have. Beyond `most` values, the namespace with the most of them loses its oldest one: it takes no place of others. */
export class FairMap<Value> {
  readonly #most: number;
  /** The namespace of each name. */
  readonly #owners = new Map<string, string>();
  readonly #byNamespace = new Map<string, Map<string, Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** By namespace, the oldest first. */
  get lists(): Value[][] {
    return [...this.#byNamespace.values()].map((one) => [...one.values()]);
  }

  get(name: string): Value | undefined {
    return this.#byNamespace.get(this.#owners.get(name) ?? "")?.get(name);
  }

  /** Sets the newest value. Of several namespaces, the one with the fewest values has it. */
  set(name: string, value: Value, namespaces: readonly string[]): void {
    this.delete(name);
    const sizeOf = (namespace: string) => this.#byNamespace.get(namespace)?.size ?? 0;
    const [owner = ""] = namespaces.toSorted((a, b) => sizeOf(a) - sizeOf(b));
    this.#owners.set(name, owner);
    const own = this.#byNamespace.get(owner) ?? new Map<string, Value>();
    this.#byNamespace.set(owner, own.set(name, value));
    if (this.#owners.size <= this.#most) return;
    const largest = this.#byNamespace.values().reduce((a, b) => (b.size > a.size ? b : a));
    for (const oldest of largest.keys().take(1)) this.delete(oldest);
  }

  delete(name: string): void {
    const owner = this.#owners.get(name) ?? "";
    const own = this.#byNamespace.get(owner);
    own?.delete(name);
    if (own?.size === 0) this.#byNamespace.delete(owner);
    this.#owners.delete(name);
  }

  deleteIf(isOver: (value: Value) => boolean): void {
    for (const own of this.#byNamespace.values())
      for (const [name, value] of own) if (isOver(value)) this.delete(name);
  }
}
