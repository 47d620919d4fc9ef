import { isDeepStrictEqual } from "node:util";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import type { Allowance } from "./allowance.ts";
import { contentDigest, statusDigest } from "./content-digest.ts";

/** An object of a kind that we write, as it was last seen: what a write of it is conditional on, and compared with. */
export interface Seen {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `contentDigest` of it. */
  readonly content: string;
  /** `statusDigest` of it. */
  readonly status: string;
}

/** What a `FactStore` is made of. */
export interface FactStoreOptions<Fact> {
  readonly parse: (object: unknown) => Parsed<Fact>;
  /** True for a kind that we write: it is remembered what the objects were like. */
  readonly written?: boolean;
  /** What several objects are asked for by, such as their Service; absent: nothing. */
  readonly groupOf?: (key: string, object: unknown) => string | undefined;
  /** How much of it is believed; absent: all. */
  readonly allowance?: {
    readonly allowance: Allowance<Fact>;
    /** How much is remembered of what is wrong with it. */
    readonly faults: Allowance<readonly Problem[]>;
    /** What it is all part of, for people. */
    readonly of: string;
  };
  readonly told: FactsTold<Fact>;
}

/** Who is told what became of the objects of one kind. */
export interface FactsTold<Fact> {
  /** What is believed of an object has changed, or, of a kind that we write, what it says; undefined: nothing is. */
  changed(key: string, fact: Fact | undefined, before: Fact | undefined, group?: string): void;
  /** All that is wrong with one object, or with all of them, if that is not what was told before. */
  problems(object: string, problems: readonly Problem[]): void;
  /** There may be room for what was refused: whoever wants it believed has to tell of it again. */
  room?(): void;
}

interface Entry<Fact> {
  readonly fact: Fact | undefined;
  readonly seen: Seen | undefined;
  readonly group: string | undefined;
  readonly object: string;
  readonly problems: readonly Problem[];
}

/** The objects of one kind as facts: each is parsed when it arrives, and then forgotten. */
export class FactStore<Fact> {
  readonly #options: FactStoreOptions<Fact>;
  /** By the reflector's key. */
  readonly #entries = new Map<string, Entry<Fact>>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(options: FactStoreOptions<Fact>) {
    this.#options = options;
  }

  /** How many objects there are, usable or not. */
  get size(): number {
    return this.#entries.size;
  }

  /** Keys of all objects, usable or not. */
  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** What is believed of an object; undefined if it is not there, or not usable. */
  fact(key: string): Fact | undefined {
    return this.#entries.get(key)?.fact;
  }

  /** What an object was last seen like. */
  seen(key: string): Seen | undefined {
    return this.#entries.get(key)?.seen;
  }

  *facts(): Iterable<Fact> {
    for (const { fact } of this.#entries.values()) if (fact !== undefined) yield fact;
  }

  /** All groups that have an object. */
  groups(): Iterable<string> {
    return this.#groups.keys();
  }

  /** Keys of a group's objects, usable or not. */
  keysOf(group: string): Iterable<string> {
    return this.#groups.get(group) ?? [];
  }

  /** Facts of a group's objects. */
  factsOf(group: string): Fact[] {
    return [...this.keysOf(group)].flatMap((key) => this.fact(key) ?? []);
  }

  /** An object is as it is here. One that has become unusable keeps nothing of its old self. */
  changed(key: string, object: unknown): void {
    const { allowance, groupOf, parse, told, written = false } = this.#options;
    const before = this.#entries.get(key);
    const parsed = this.#takes(key, parse(object), before);
    const isNothing = parsed.fact === undefined && parsed.problems.length === 0;
    if (isNothing && allowance !== undefined && !written) {
      // Even to remember that it is there would be to remember without a limit.
      this.#removed(key, before);
      return;
    }
    const unchanged = isDeepStrictEqual(before?.fact, parsed.fact);
    const entry: Entry<Fact> = {
      // What has not changed stays the value that others hold: it is in memory once.
      fact: unchanged ? before?.fact : parsed.fact,
      seen: written ? seenOf(object) : undefined,
      group: groupOf?.(key, object),
      object: parsed.object,
      problems: parsed.problems,
    };
    this.#put(key, entry, before);
    if (!isDeepStrictEqual(before?.problems ?? [], parsed.problems)) {
      told.problems(parsed.object, parsed.problems);
    }
    const alike =
      before?.seen?.content === entry.seen?.content && before?.seen?.status === entry.seen?.status;
    if (!unchanged || !alike) told.changed(key, entry.fact, before?.fact, entry.group);
    // Whoever it belonged to has lost it.
    if (before?.group !== undefined && before.group !== entry.group) {
      told.changed(key, undefined, before.fact, before.group);
    }
  }

  /** An object is gone. */
  removed(key: string): void {
    const before = this.#entries.get(key);
    this.#takes(key, { object: key, problems: [] }, before);
    this.#removed(key, before);
  }

  #removed(key: string, before: Entry<Fact> | undefined): void {
    if (before === undefined) return;
    const { told } = this.#options;
    this.#entries.delete(key);
    this.#leave(key, before.group);
    if (before.problems.length > 0) told.problems(before.object, []);
    told.changed(key, undefined, before.fact, before.group);
  }

  /** As much of what was read as may be believed, and remembered, in the place of what was there. */
  #takes(key: string, read: Parsed<Fact>, before: Entry<Fact> | undefined): Parsed<Fact> {
    const { told, allowance: options } = this.#options;
    if (options === undefined) return read;
    const { allowance, faults, of } = options;
    const reasons = [allowance.reason, faults.reason];
    const isTaken = allowance.take(key, read.fact, before?.fact);
    const problems = isTaken ? read.problems : [];
    const areTaken = faults.take(key, someOf(problems), someOf(before?.problems));
    const next = [allowance.reason, faults.reason];
    if (next.join() !== reasons.join())
      told.problems(
        of,
        next.flatMap((why) => overflow(of, why)),
      );
    const isLess = before?.fact !== undefined && read.fact === undefined;
    if (allowance.reason !== undefined && isLess) told.room?.();
    const { fact, ...rest } = read;
    return {
      ...rest,
      ...(isTaken && fact !== undefined && { fact }),
      problems: areTaken ? problems : [],
    };
  }

  #put(key: string, entry: Entry<Fact>, before: Entry<Fact> | undefined): void {
    this.#entries.set(key, entry);
    if (before?.group === entry.group) return;
    this.#leave(key, before?.group);
    if (entry.group === undefined) return;
    const group = this.#groups.get(entry.group) ?? new Set();
    this.#groups.set(entry.group, group.add(key));
  }

  #leave(key: string, name: string | undefined): void {
    if (name === undefined) return;
    const group = this.#groups.get(name);
    group?.delete(key);
    if (group?.size === 0) this.#groups.delete(name);
  }
}

function someOf(problems: readonly Problem[] = []): readonly Problem[] | undefined {
  return problems.length === 0 ? undefined : problems;
}

/** What is told of all that is refused for want of room: once, however much it is. */
function overflow(of: string, reason: Reason | undefined): Problem[] {
  return reason === undefined ? [] : [{ reason, object: of, field: "metadata", value: "" }];
}

function seenOf(object: unknown): Seen | undefined {
  const meta = metaOf(object);
  return meta && { ...meta, content: contentDigest(object), status: statusDigest(object) };
}
