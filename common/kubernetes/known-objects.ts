import { isOlder, type ObjectMeta } from "./object-meta.ts";

/** An object, as far as it is kept. */
interface Entry {
  uid: string;
  /** Empty while nobody has been told of the object with success. */
  resourceVersion: string;
  /** The list that it was last seen in. */
  list: number;
}

/** Which objects exist as far as is known, in which version; and, during a list, which were in it. */
export class KnownObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #untold = new Set<string>();
  #list = 0;

  /** `keys`: objects that are known from before, in a version that is not. */
  constructor(keys: Iterable<string> = []) {
    for (const key of keys) this.#entries.set(key, { uid: "", resourceVersion: "", list: 0 });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** True if there are objects that nobody was told of with success. */
  get someUntold(): boolean {
    return this.#untold.size > 0;
  }

  /** A list begins: no object has been seen in it yet. */
  beginList(): void {
    this.#list++;
  }

  /**
   * An object is in the list: true unless just this version of it is known, or a later one that was told of since the list
   * began.
   */
  listed(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    if (entry?.list === this.#list && isPast(entry, meta)) return false;
    if (entry !== undefined) entry.list = this.#list;
    return !isSame(entry, meta) && this.#set(meta);
  }

  /** True if an object that is in the list is older than it was when the list began: so is the server. */
  isRewound(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return entry?.list !== this.#list && isPast(entry, meta);
  }

  /** An object was added or modified: true unless that is known, or was true before what is known. */
  changed(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return !isSame(entry, meta) && !isPast(entry, meta) && this.#set(meta);
  }

  /** An object was deleted: true unless that is known, or was true before what is known. */
  deleted(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return entry !== undefined && !isPast(entry, meta) && this.forget(meta.key);
  }

  /** Nothing is sure of any object but that it was there: the next list tells of all of them again. */
  distrust(): void {
    for (const entry of this.#entries.values()) entry.resourceVersion = "";
  }

  /** Who was told of an object has failed: the next list tells of it again. */
  untold(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.resourceVersion = "";
    this.#untold.add(key);
  }

  /** Objects that are known and were not in the list. */
  missing(): string[] {
    const missing: string[] = [];
    // There may be tens of thousands, and mostly none is missing.
    for (const [key, { list }] of this.#entries) if (list !== this.#list) missing.push(key);
    return missing;
  }

  /** True if it was known. */
  forget(key: string): boolean {
    this.#untold.delete(key);
    return this.#entries.delete(key);
  }

  #set({ key, uid, resourceVersion }: ObjectMeta): true {
    this.#untold.delete(key);
    this.#entries.set(key, { uid, resourceVersion, list: this.#list });
    return true;
  }
}

function isSame(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry?.uid === meta.uid && entry.resourceVersion === meta.resourceVersion;
}

/** True if an event tells of a state before the one that is known. */
function isPast(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry !== undefined && isOlder(meta.resourceVersion, entry.resourceVersion);
}
