import { mayTake } from "../../api/fair-budget.ts";
import type { Clock } from "../clock.ts";

/** Milliseconds of an attempt that hung until it was rejected, as in a webhook that does not answer, or that was slow. */
const SLOW_MS = 2_000;
/** Milliseconds for which a group counts as hanging or slow after such an attempt: longer than keys wait between two. */
const LASTS_MS = 90_000;
/** Workers for the keys of one hanging group, and of all of them: those that hung before, and the others. */
const MOST_HANGING = { group: 2, all: 4 } as const;
/** Workers that keys of groups that neither hang nor are slow always find, in parts of all workers. */
const RESERVED = 1 / 4;

/** How an attempt has ended: well, rejected by the API server, or interrupted, as by an outage. */
export type Outcome = "done" | "interrupted" | "rejected";

/** When attempts of a group last hung, and were slow. */
type Marks = Partial<Record<"hung" | "slow", number>>;

/**
 * Limits the workers that attempts occupy which take seconds. Those that hang until they are rejected are of no use: keys of a namespace with such a webhook
 * occupy two workers; those of the same namespace whose own last attempt did not hang, or that changed since it began, have two others, because it
 * may answer for them. Slow ones that succeed need their time: their groups share three of four workers (`mayTake`), as it may be the API server that
 * is slow.
 */
export class Hanging<Key> {
  readonly #clock: Pick<Clock, "now">;
  readonly #groupOf: (key: Key) => string;
  readonly #most: number;
  /** By group. */
  readonly #marks = new Map<string, Marks>();
  /** Keys whose last attempt hung, and that have not changed since it began. */
  readonly #keys = new Set<Key>();

  /** `workers`: how many there are. */
  constructor(clock: Pick<Clock, "now">, groupOf: (key: Key) => string, workers: number) {
    this.#clock = clock;
    this.#groupOf = groupOf;
    this.#most = Math.max(1, Math.floor(workers * (1 - RESERVED)));
  }

  /** The class of a key, of which a limited number is worked on; undefined if its group neither hangs nor is slow. */
  classOf(key: Key): string | undefined {
    const group = this.#groupOf(key);
    const { hung, slow } = this.#marks.get(group) ?? {};
    if (this.#isRecent(hung)) return `${this.#keys.has(key) ? "again" : "first"} ${group}`;
    return this.#isRecent(slow) ? `slow ${group}` : undefined;
  }

  /** True if a key has to wait until one of `working` is done. */
  isFull(key: Key, working: Iterable<Key>): boolean {
    const own = this.classOf(key);
    if (own === undefined) return false;
    const side = sideOf(own);
    const of = { group: 0, side: 0, all: 0 };
    for (const other of working) {
      const theirs = this.classOf(other);
      if (theirs === undefined) continue;
      of.all++;
      if (sideOf(theirs) === side) of.side++;
      if (theirs === own) of.group++;
    }
    if (side === "slow") return !mayTake(of.group, this.#most - of.all);
    return of.group >= MOST_HANGING.group || of.side >= MOST_HANGING.all || of.all >= this.#most;
  }

  /** A key that is not worked on has changed: what it needs now may not hang. Returns true if its class is another one now. */
  changed(key: Key): boolean {
    return this.#keys.delete(key);
  }

  /** An attempt has ended, after `took` milliseconds. `hasChanged`: the key has changed meanwhile. */
  ended(key: Key, outcome: Outcome, took: number, hasChanged: boolean): void {
    this.#keys.delete(key);
    if (took < SLOW_MS || outcome === "interrupted") return;
    if (outcome === "rejected" && !hasChanged) this.#keys.add(key);
    for (const [group, { hung, slow }] of this.#marks)
      if (!this.#isRecent(hung) && !this.#isRecent(slow)) this.#marks.delete(group);
    const group = this.#groupOf(key);
    const kind = outcome === "rejected" ? "hung" : "slow";
    this.#marks.set(group, { ...this.#marks.get(group), [kind]: this.#clock.now() });
  }

  #isRecent(at = Number.NEGATIVE_INFINITY): boolean {
    return this.#clock.now() - at < LASTS_MS;
  }
}

/** The first word of a class. */
function sideOf(name: string): string {
  return name.slice(0, name.indexOf(" "));
}
