import { isOlder, type ObjectMeta } from "./object-meta.ts";

/** An object, as far as it is kept. */
interface Entry {
  uid: string;
  /** Empty while nobody has been told of the object with success. */
  resourceVersion: string;
  /** The list that it was last seen in. */
  list: number;
  /** The list during or after which an answer to a request of ours showed it last. */
  answered: number;
}

/** Which objects exist as far as is known, in which version; and, during a list, which were in it. */
export class KnownObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #untold = new Set<string>();
  #list = 0;

  /** `keys`: objects that are known from before, in a version that is not. */
  constructor(keys: Iterable<string> = []) {
    for (const key of keys) {
      this.#entries.set(key, { uid: "", resourceVersion: "", list: 0, answered: -1 });
    }
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
    const isTold = this.#isTold(entry);
    if (entry !== undefined) entry.list = this.#list;
    if (isTold && isPast(entry, meta)) return false;
    return !isSame(entry, meta) && this.#set(meta);
  }

  /** True if an object that is in the list is older than it was when the list began: so is the server. */
  isRewound(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return !this.#isTold(entry) && isPast(entry, meta);
  }

  /** An object was added or modified: true unless that is known, or was true before what is known. */
  changed(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return !isSame(entry, meta) && !isPast(entry, meta) && this.#set(meta);
  }

  /**
   * An object is so as an answer shows, which may come after events that are later: true unless that is known, or was true
   * before what is known. `reached`: all events up to this version have come, and what is not known of them is no more; empty
   * if that is not known.
   */
  answered(meta: ObjectMeta, reached: string): boolean {
    const entry = this.#entries.get(meta.key);
    if (entry === undefined && isReached(meta, reached)) return false;
    if (isSame(entry, meta) || isPast(entry, meta)) return false;
    // A list that is under way may be of a later moment, in which it was no more.
    return this.#set(meta, { list: entry?.list ?? -1, answered: this.#list });
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

  /** Objects that are known and were not in the list, which was of this version; what was written since is not missing. */
  missing(version: string): string[] {
    const missing: string[] = [];
    // There may be tens of thousands, and mostly none is missing.
    for (const [key, entry] of this.#entries) {
      if (entry.list === this.#list) continue;
      const isLater = entry.answered === this.#list && !isReached(entry, version);
      if (!isLater) missing.push(key);
    }
    return missing;
  }

  /** True if it was known. */
  forget(key: string): boolean {
    this.#untold.delete(key);
    return this.#entries.delete(key);
  }

  /** True if it was told since the list began. */
  #isTold(entry: Entry | undefined): boolean {
    return entry?.list === this.#list || entry?.answered === this.#list;
  }

  #set(
    { key, uid, resourceVersion }: ObjectMeta,
    when: Pick<Entry, "list" | "answered"> = { list: this.#list, answered: -1 },
  ): true {
    this.#untold.delete(key);
    this.#entries.set(key, { uid, resourceVersion, ...when });
    return true;
  }
}

/** True if this state of an object is certainly no later than a version. */
function isReached({ resourceVersion }: Pick<Entry, "resourceVersion">, reached: string): boolean {
  return resourceVersion === reached || isOlder(resourceVersion, reached);
}

function isSame(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry?.uid === meta.uid && entry.resourceVersion === meta.resourceVersion;
}

/** True if an event tells of a state before the one that is known. */
function isPast(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry !== undefined && isOlder(meta.resourceVersion, entry.resourceVersion);
}
