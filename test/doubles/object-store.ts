/** An object as a fake API server stores it. */
export interface StoredObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly value: number;
}

/** A write to the store. */
export interface StoredEvent {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredObject;
}

/** What etcd is to an API server: objects, a version that grows with every write, and a history that does not last. */
export class ObjectStore {
  version = 100;
  /** True if it has gone back in time. */
  restored = false;
  readonly objects = new Map<string, StoredObject>();
  /** The version at which each key last ceased to exist; infinite once versions went back. */
  readonly ends = new Map<string, number>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  #history: StoredEvent[] = [];
  #compacted = 0;
  #uids = 0;

  put(name: string, value: number): void {
    const key = `shop/${name}`;
    const old = this.objects.get(key);
    const uid = old?.metadata.uid ?? `uid-${++this.#uids}`;
    const resourceVersion = String(++this.version);
    const object = { metadata: { namespace: "shop", name, uid, resourceVersion }, value };
    this.objects.set(key, object);
    this.#write({ version: this.version, type: old ? "MODIFIED" : "ADDED", object });
  }

  delete(name: string): void {
    const key = `shop/${name}`;
    const old = this.objects.get(key);
    if (old === undefined) return;
    this.objects.delete(key);
    this.ends.set(key, this.restored ? Number.POSITIVE_INFINITY : this.version + 1);
    const metadata = { ...old.metadata, resourceVersion: String(++this.version) };
    this.#write({ version: this.version, type: "DELETED", object: { ...old, metadata } });
  }

  /** Deletes history: a watch cannot continue from an older version. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.version;
  }

  /** Restores a backup with only these objects; watches get no event. */
  restore(names: readonly string[], version: number): void {
    for (const [key, { metadata }] of this.objects) {
      if (names.includes(metadata.name)) continue;
      this.objects.delete(key);
      this.ends.set(key, Number.POSITIVE_INFINITY);
    }
    this.version = version;
    this.restored = true;
    for (const [key, object] of this.objects) {
      const metadata = { ...object.metadata, resourceVersion: String(version) };
      this.objects.set(key, { ...object, metadata });
    }
    this.#history = [];
    this.#compacted = 0;
  }

  /** What was written after a version; undefined if that is no longer known. */
  since(version: number): readonly StoredEvent[] | undefined {
    if (version < this.#compacted) return undefined;
    return this.#history.filter((event) => event.version > version);
  }

  /** Calls `listener` with every write from now on; gives what ends that. */
  listen(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #write(event: StoredEvent): void {
    this.#history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}
