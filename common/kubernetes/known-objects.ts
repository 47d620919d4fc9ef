import { counted } from "../../api/count.ts";
import { ApiFault } from "./api-fault.ts";
import { isOlder, type ObjectMeta } from "./object-meta.ts";
import { ObjectShares, type ShareEvents } from "./object-shares.ts";

/** What is kept of an object. */
interface Entry {
  uid: string;
  /** Empty until the object has been delivered successfully. */
  resourceVersion: string;
  /** The number of the last list that contained it. */
  list: number;
  /** The number of the list during or after which it was added. */
  since: number;
  /** The number of the list during or after which a response to a request of this process last contained it. */
  response: number;
}

/** Options of `KnownObjects`. */
export interface KnownObjectsOptions extends ShareEvents {
  /** Objects known from before this process started, in an unknown version. */
  readonly keys?: Iterable<string>;
  /** Maximum objects of a list; default: 200,000. Each takes up to 600 bytes, twice as many of them while a list replaces all. */
  readonly most?: number;
  /** Maximum objects of an owner. Default: half. */
  readonly mostOfOwner?: number;
  /** Whose object it is: owners share `most`. Default: its namespace's. */
  readonly ownerOf?: (key: string) => string;
}

const MOST_OBJECTS = 200_000;

/**
 * The objects that exist according to lists, watches and responses, and which of them the current list contains. Beyond a maximum, objects of the owner that has
 * the most are left out: they are not known.
 */
export class KnownObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #undelivered = new Set<string>();
  readonly #most: number;
  readonly #ownerOf: (key: string) => string;
  readonly #shares: ObjectShares;
  #list = 0;
  /** The number of the last complete list. */
  #complete = 0;

  constructor(options: KnownObjectsOptions) {
    const { keys = [], most = MOST_OBJECTS, ownerOf = namespaceOf } = options;
    this.#most = most;
    this.#ownerOf = ownerOf;
    this.#shares = new ObjectShares(
      most,
      options.mostOfOwner ?? Math.ceil(most / 2),
      {
        evicted: (key) => {
          if (!this.#isCounted(this.#entries.get(key))) return;
          this.forget(key);
          options.evicted(key);
        },
        leavesOut: options.leavesOut,
      },
      () => this.#keysByOwner(),
    );
    for (const key of keys) {
      this.#entries.set(key, { uid: "", resourceVersion: "", list: -1, since: 0, response: -1 });
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  /** True if a list has to deliver objects: their delivery failed, or they were left out and there is room now. */
  get needsList(): boolean {
    return this.#undelivered.size > 0 || this.#shares.isRoom;
  }

  /** True if there is room for objects that were left out. */
  get isRoom(): boolean {
    return this.#shares.isRoom;
  }

  /** A list begins; it contains no object so far. */
  beginList(): void {
    this.#list++;
    this.#shares.begin();
  }

  /**
   * The list contains an object. True if it must be delivered: no such or later version of it was, since the list began. Throws `too-many-objects` if
   * interrupted lists have contained too many different ones.
   */
  listed(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    if (entry?.list !== this.#list) {
      if (!this.#shares.take(this.#ownerOf(meta.key), meta.key)) return false;
      // Known objects stay beside those of a list until it is complete.
      if (entry === undefined && this.#entries.size >= 2 * this.#most) throw this.#tooMany();
    }
    const isRecent = this.#isRecent(entry);
    if (entry !== undefined) entry.list = this.#list;
    if (isRecent && isStale(entry, meta)) return false;
    return !isSame(entry, meta) && this.#set(meta);
  }

  /** True if an object of the list is older than before the list began, which means that the server was restored. */
  isRewound(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return !this.#isRecent(entry) && isStale(entry, meta);
  }

  /** An object was added or modified. True if that is news, and the object is not left out. */
  changed(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    if (isSame(entry, meta) || isStale(entry, meta)) return false;
    if (this.#isCounted(entry) || this.#shares.take(this.#ownerOf(meta.key), meta.key)) {
      return this.#set(meta);
    }
    // A response or an earlier list has shown it: what is shown must not become stale.
    return entry !== undefined && this.#set(meta, entry);
  }

  /**
   * A response shows an object; later watch events may have arrived before it. True if it is news. `delivered`: all
   * events up to this version have arrived, so an unknown object of such a version was deleted; empty if unknown.
   */
  inResponse(meta: ObjectMeta, delivered: string): boolean {
    const entry = this.#entries.get(meta.key);
    if (entry === undefined && isUpTo(meta, delivered)) return false;
    if (isSame(entry, meta) || isStale(entry, meta)) return false;
    // A list in progress may be of a later version, in which the object does not exist any more.
    return this.#set(meta, { list: entry?.list ?? -1, response: this.#list });
  }

  /** An object was deleted. True if that is news. */
  deleted(meta: ObjectMeta): boolean {
    const entry = this.#entries.get(meta.key);
    return entry !== undefined && !isStale(entry, meta) && this.forget(meta.key);
  }

  /** Keeps only the keys: the next list delivers all objects again. */
  invalidateVersions(): void {
    for (const entry of this.#entries.values()) entry.resourceVersion = "";
  }

  /** The delivery of an object failed: the next list delivers it again. */
  undelivered(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.resourceVersion = "";
    this.#undelivered.add(key);
  }

  /** Known objects that the list of this version does not contain, except those written later. */
  missing(version: string): string[] {
    const missing: string[] = [];
    // A loop instead of a filter: there may be tens of thousands, and usually none is missing.
    for (const [key, entry] of this.#entries) {
      if (entry.list === this.#list) continue;
      const isLater = entry.response === this.#list && !isUpTo(entry, version);
      if (!isLater) missing.push(key);
    }
    return missing;
  }

  /** The current list is complete. */
  completeList(): void {
    this.#complete = this.#list;
    this.#shares.complete();
  }

  /**
   * Objects that only incomplete lists contained, without those of the current list. Their removal makes room for the next one.
   * Objects of the last complete list, and those added since, are not among them.
   */
  unconfirmed(): string[] {
    const isUnconfirmed = ({ since, list }: Entry) => since > this.#complete && list !== this.#list;
    return [...this.#entries].flatMap(([key, entry]) => (isUnconfirmed(entry) ? [key] : []));
  }

  /** True if the object was known. */
  forget(key: string): boolean {
    const entry = this.#entries.get(key);
    if (this.#isCounted(entry)) this.#shares.give(this.#ownerOf(key));
    this.#undelivered.delete(key);
    return this.#entries.delete(key);
  }

  /** True for an object of the current list, or added since. Those of earlier lists are removed when it is complete. */
  #isCounted(entry: Entry | undefined): boolean {
    return entry?.list === this.#list;
  }

  /** Keys of counted objects by owner, in the order in which they became known. */
  #keysByOwner(): Map<string, string[]> {
    const keys = new Map<string, string[]>();
    for (const [key, entry] of this.#entries) {
      if (!this.#isCounted(entry)) continue;
      const owner = this.#ownerOf(key);
      const of = keys.get(owner);
      if (of === undefined) keys.set(owner, [key]);
      else of.push(key);
    }
    return keys;
  }

  /** True if the object was delivered since the list began. */
  #isRecent(entry: Entry | undefined): boolean {
    return entry?.list === this.#list || entry?.response === this.#list;
  }

  #set(
    { key, uid, resourceVersion }: ObjectMeta,
    when: Pick<Entry, "list" | "response"> = { list: this.#list, response: -1 },
  ): true {
    this.#undelivered.delete(key);
    const since = this.#entries.get(key)?.since ?? this.#list;
    this.#entries.set(key, { uid, resourceVersion, since, ...when });
    return true;
  }

  #tooMany(): ApiFault {
    return new ApiFault("too-many-objects", `There are more than ${counted(this.#most, "object")}`);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/** True if an object is certainly not newer than a version. */
function isUpTo({ resourceVersion }: Pick<Entry, "resourceVersion">, version: string): boolean {
  return resourceVersion === version || isOlder(resourceVersion, version);
}

function isSame(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry?.uid === meta.uid && entry.resourceVersion === meta.resourceVersion;
}

/** True if `meta` is older than the known version. */
function isStale(entry: Entry | undefined, meta: ObjectMeta): boolean {
  return entry !== undefined && isOlder(meta.resourceVersion, entry.resourceVersion);
}
