import { isDeepStrictEqual } from "node:util";
import type { ObjectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { timeOf } from "../../api/parse/time-span.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import type { StoreQuota } from "../../api/store-quota.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import type { Removal } from "../../common/kubernetes/reflector-events.ts";
import { contentDigest, statusDigest } from "./content-digest.ts";
import { KeyGroups } from "./key-groups.ts";

/** The last seen state of an object that the controller writes: precondition of a write, and what it is compared with. */
export interface Seen {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `contentDigest` of the object. */
  readonly content: string;
  /** `statusDigest` of the object. */
  readonly status: string;
}

/** A write of the controller in progress: the digest of what it applies, or a deletion. */
export type OwnWrite =
  | { readonly part: "content" | "status"; readonly digest: string }
  | { readonly part: "object" };

/** A change of one object in a store. */
export interface Change<Fact> {
  readonly key: string;
  /** Undefined: the object is gone or unusable. */
  readonly fact: Fact | undefined;
  readonly group: ObjectKey | undefined;
  /** True if the change is exactly the controller's own write. */
  readonly isOwnWrite: boolean;
}

/** Dependencies of a `FactStore`. */
export interface FactStoreOptions<Fact> extends FactStoreEvents<Fact> {
  readonly parse: (object: unknown) => Parsed<Fact>;
  /** True for a kind that the controller writes: `seen` is kept, and every change of content or status is reported. */
  readonly written?: boolean;
  /** Index of the objects, such as their Service; absent: none. */
  readonly groupOf?: (
    key: string,
    object: unknown,
    fact: Fact | undefined,
  ) => ObjectKey | undefined;
  /** Absent: everything is admitted. */
  readonly quota?: StoreQuota<Fact>;
  /** True while an object of a group that a list lacks is known to be gone; otherwise its fact is retained. Absent: always. */
  readonly isGone?: (group: ObjectKey | undefined) => boolean;
}

/** What a `FactStore` reports. */
export interface FactStoreEvents<Fact> {
  changed(change: Change<Fact>): void;
  /** All problems of one object, when they differ from those reported last. */
  problems(object: string, problems: readonly Problem[]): void;
}

const NO_STATUS = statusDigest(undefined);

interface Entry<Fact> {
  readonly fact: Fact | undefined;
  readonly problems: readonly Problem[];
  /** As `createdOf`. */
  readonly since: number;
  /** Of all problems, stored or not; undefined: none. */
  readonly reasons: readonly Reason[] | undefined;
  readonly seen: Seen | undefined;
  readonly group: ObjectKey | undefined;
  readonly object: string;
}

/** A cache of one kind of object, indexed by group. Only the parsed fact of an object is kept. */
export class FactStore<Fact> {
  readonly #options: FactStoreOptions<Fact>;
  readonly #entries = new Map<string, Entry<Fact>>();
  readonly #groups = new KeyGroups();
  /** Objects over the quota, by group. */
  readonly #rejected = new KeyGroups();
  /** Their groups, by key. */
  readonly #rejectedIn = new Map<string, ObjectKey | undefined>();
  /** Objects with problems over the quota, which are not reported. */
  readonly #untold = new Set<string>();
  /** Keys of retained objects: the last list lacked them. A deletion in a watch is final at once. */
  readonly #missing = new Set<string>();
  readonly #writes = new Map<string, OwnWrite>();

  constructor(options: FactStoreOptions<Fact>) {
    this.#options = options;
    options.quota?.serve({
      stored: (key) => this.#entries.get(key),
      allStored: () => this.#entries,
      evictFact: (key) => this.#evictFact(key),
      evictProblems: (key) => this.#evictProblems(key),
    });
  }

  /** Number of objects, usable or not, without retained ones. */
  get size(): number {
    return this.#entries.size - this.#missing.size;
  }

  /** Keys of all objects, usable or not, without retained ones. */
  keys(): Iterable<string> {
    return this.#entries.keys().filter((key) => !this.#missing.has(key));
  }

  /** As `keys`, and those of objects over the quota, which a list may lack, too. */
  *known(): Iterable<string> {
    yield* this.keys();
    yield* this.#rejected.keys();
  }

  /** True for an object that exists, usable or not. */
  has(key: string): boolean {
    return this.#entries.has(key) && !this.#missing.has(key);
  }

  /** Undefined if the object does not exist or is unusable. */
  fact(key: string): Fact | undefined {
    return this.#entries.get(key)?.fact;
  }

  seen(key: string): Seen | undefined {
    return this.#entries.get(key)?.seen;
  }

  *facts(): Iterable<Fact> {
    for (const { fact } of this.#entries.values()) if (fact !== undefined) yield fact;
  }

  /** All groups that have an object. */
  groups(): Iterable<ObjectKey> {
    return this.#groups.groups();
  }

  /** Keys of a group's objects, usable or not. */
  keysOf(group: ObjectKey): ReadonlySet<string> {
    return this.#groups.keysOf(group);
  }

  factsOf(group: ObjectKey): Fact[] {
    return [...this.keysOf(group)].flatMap((key) => this.fact(key) ?? []);
  }

  /** Keys of objects that are over the quota, or whose problems are. */
  rejected(): ReadonlySet<string> {
    return new Set([...this.#rejectedIn.keys(), ...this.#untold]);
  }

  /** Why objects of a group, or parts of them, are left out. */
  reasonsOf(group: ObjectKey): Set<Reason> {
    const reasons = this.rejectionsOf(group);
    for (const key of this.keysOf(group)) {
      for (const reason of this.reasons(key)) reasons.add(reason);
    }
    return reasons;
  }

  /** Why one object, or parts of it, are left out. */
  reasons(key: string): readonly Reason[] {
    return this.#entries.get(key)?.reasons ?? [];
  }

  /** Why objects of a group are over the quota. */
  rejectionsOf(group: ObjectKey): Set<Reason> {
    const { quota } = this.#options;
    const keys = [...this.#rejected.keysOf(group)];
    return new Set(keys.flatMap((key) => quota?.rejection(key) ?? []));
  }

  /**
   * Announces a write: a change that equals it is reported as our own, by a watch or by the answer, whichever is first.
   * Returns what ends the announcement.
   */
  beginWrite(key: string, write: OwnWrite): () => void {
    this.#writes.set(key, write);
    return () => this.#writes.delete(key);
  }

  /** Stores an object. One that has become unusable loses its earlier fact. */
  changed(key: string, object: unknown): void {
    const { quota, groupOf, parse, written = false } = this.#options;
    const before = this.#entries.get(key);
    const read = parse(object);
    const since = createdOf(object);
    const parsed = quota?.admit(key, since, read) ?? read;
    this.#missing.delete(key);
    if (parsed.problems.length < read.problems.length) this.#untold.add(key);
    else this.#untold.delete(key);
    const group = groupOf?.(key, object, parsed.fact);
    const turned = this.#note(key, group);
    const isNothing = parsed.fact === undefined && parsed.problems.length === 0;
    if (isNothing && quota !== undefined && !written) {
      // An entry for every rejected object would be memory without a limit.
      this.#remove(key, before, turned);
      return;
    }
    const unchanged = isDeepStrictEqual(before?.fact, parsed.fact);
    const entry: Entry<Fact> = {
      // The same value stays in memory once, however many hold it.
      fact: unchanged ? before?.fact : parsed.fact,
      since,
      seen: written ? seenOf(object) : undefined,
      group,
      object: parsed.object,
      problems: parsed.problems,
      reasons: reasonsOf(read.problems),
    };
    this.#put(key, entry, before);
    if (!isDeepStrictEqual(before?.problems ?? [], parsed.problems)) {
      this.#options.problems(parsed.object, parsed.problems);
    }
    const alike =
      before?.seen?.content === entry.seen?.content &&
      before?.seen?.status === entry.seen?.status &&
      before?.reasons?.join() === entry.reasons?.join();
    const { fact } = entry;
    const isOwnWrite = this.#isOwnWrite(key, before?.seen, entry.seen);
    if (!unchanged || !alike) this.#options.changed({ key, fact, group, isOwnWrite });
    if (before?.group !== undefined && before.group !== group) {
      this.#options.changed({ key, fact: undefined, group: before.group, isOwnWrite });
    }
  }

  /** Removes an object, or retains it if a list lacks it. */
  removed(key: string, how?: Removal): void {
    const { isGone, quota } = this.#options;
    const before = this.#entries.get(key);
    if (how === "missing" && before?.fact !== undefined && isGone?.(before.group) === false) {
      this.#retain(key, before, before.fact);
      return;
    }
    this.#untold.delete(key);
    quota?.admit(key, 0, { object: key, problems: [] });
    this.#remove(key, before, this.#note(key, undefined));
  }

  /** Removes the retained objects that are known to be gone by now. */
  removeMissing(): void {
    const { isGone = () => true } = this.#options;
    for (const key of [...this.#missing])
      if (isGone(this.#entries.get(key)?.group)) this.removed(key);
  }

  #retain(key: string, before: Entry<Fact>, fact: Fact): void {
    const { quota } = this.#options;
    const { object, group, problems } = before;
    quota?.admit(key, before.since, { object, fact, problems: [] });
    this.#entries.set(key, { ...before, seen: undefined, problems: [] });
    this.#missing.add(key);
    if (problems.length > 0) this.#options.problems(object, []);
    this.#options.changed({ key, fact, group, isOwnWrite: false });
  }

  /** An object has lost its place within the quota. */
  #evictFact(key: string): void {
    const before = this.#entries.get(key);
    if (before?.fact === undefined) return;
    const { quota, written = false } = this.#options;
    const { group, problems } = before;
    const fact = quota?.reduced(before.fact);
    this.#note(key, group);
    if (fact === undefined && !written && problems.length === 0) {
      this.#remove(key, before);
      return;
    }
    this.#missing.delete(key);
    this.#put(key, { ...before, fact }, before);
    this.#options.changed({ key, fact, group, isOwnWrite: false });
  }

  #evictProblems(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined || before.problems.length === 0) return;
    this.#untold.add(key);
    this.#options.problems(before.object, []);
    this.#put(key, { ...before, problems: [] }, before);
  }

  #isOwnWrite(key: string, before: Seen | undefined, next: Seen | undefined): boolean {
    const write = this.#writes.get(key);
    if (write === undefined || write.part === "object" || next === undefined) return false;
    const other = write.part === "content" ? "status" : "content";
    return next[write.part] === write.digest && next[other] === (before?.[other] ?? NO_STATUS);
  }

  /** Notes whether an object is over the quota. Returns its group if that has changed. */
  #note(key: string, group: ObjectKey | undefined): ObjectKey | undefined {
    const isRejected = this.#options.quota?.rejection(key) !== undefined;
    const wasRejected = this.#rejectedIn.has(key);
    const before = this.#rejectedIn.get(key);
    if (isRejected === wasRejected && (!isRejected || before === group)) return undefined;
    this.#rejected.remove(before, key);
    this.#rejectedIn.delete(key);
    if (!isRejected) return before;
    this.#rejected.add(group, key);
    this.#rejectedIn.set(key, group);
    return group;
  }

  /** `turned`: the group of an object that is not stored, and whose rejection is new or has ended. */
  #remove(key: string, before: Entry<Fact> | undefined, turned?: ObjectKey): void {
    if (before === undefined) {
      if (turned === undefined) return;
      this.#options.changed({ key, fact: undefined, group: turned, isOwnWrite: false });
      return;
    }
    const { group, object, problems } = before;
    this.#entries.delete(key);
    this.#missing.delete(key);
    this.#groups.remove(group, key);
    if (problems.length > 0) this.#options.problems(object, []);
    const isOwnWrite = this.#writes.get(key)?.part === "object";
    this.#options.changed({ key, fact: undefined, group, isOwnWrite });
  }

  #put(key: string, entry: Entry<Fact>, before: Entry<Fact> | undefined): void {
    this.#entries.set(key, entry);
    if (before?.group === entry.group) return;
    this.#groups.remove(before?.group, key);
    this.#groups.add(entry.group, key);
  }
}

function reasonsOf(problems: readonly Problem[]): readonly Reason[] | undefined {
  if (problems.length === 0) return undefined;
  return [...new Set(problems.map(({ reason }) => reason))].sort();
}

/** Milliseconds since 1970; an object without a creationTimestamp counts as the newest. */
function createdOf(object: unknown): number {
  return timeOf(fieldAt(object, "metadata", "creationTimestamp")) ?? Number.MAX_SAFE_INTEGER;
}

function seenOf(object: unknown): Seen | undefined {
  const meta = metaOf(object);
  return meta && { ...meta, content: contentDigest(object), status: statusDigest(object) };
}
