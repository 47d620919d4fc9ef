/** A map of what namespaces have. Beyond `most` values, the namespace with the most of them loses its oldest one: it takes no place of others. */
export class FairMap<Value> {
  readonly #most: number;
  readonly #changed: (value: Value, by: 1 | -1) => void;
  /** The namespace of each name. */
  readonly #owners = new Map<string, string>();
  readonly #byNamespace = new Map<string, Map<string, Value>>();

  /** `changed`: called with each value that is set or deleted. */
  constructor(most: number, changed: (value: Value, by: 1 | -1) => void = () => undefined) {
    this.#most = most;
    this.#changed = changed;
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
    this.#changed(value, 1);
    if (this.#owners.size <= this.#most) return;
    const largest = this.#byNamespace.values().reduce((a, b) => (b.size > a.size ? b : a));
    for (const oldest of largest.keys().take(1)) this.delete(oldest);
  }

  delete(name: string): void {
    const owner = this.#owners.get(name) ?? "";
    const own = this.#byNamespace.get(owner);
    const value = own?.get(name);
    if (own === undefined || value === undefined) return;
    own.delete(name);
    if (own.size === 0) this.#byNamespace.delete(owner);
    this.#owners.delete(name);
    this.#changed(value, -1);
  }

  deleteIf(isOver: (value: Value) => boolean): void {
    for (const own of this.#byNamespace.values())
      for (const [name, value] of own) if (isOver(value)) this.delete(name);
  }
}
