import type { Parsed } from "../../api/parse/parsed.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Limit, Quota } from "./quota.ts";

/** What is stored of one object. */
export interface Stored<Fact> {
  readonly fact: Fact | undefined;
  readonly problems: readonly Problem[];
}

/** What a `StoreQuota` reports. */
export interface StoreQuotaEvents {
  /** All problems of the whole set of objects. */
  problems(object: string, problems: readonly Problem[]): void;
  /** Rejected objects may fit now: they have to be listed again. */
  room(): void;
}

/** Limits the facts and problems that a store keeps. Each kind of overflow is reported once, whatever its size. */
export class StoreQuota<Fact> {
  readonly #facts: Quota<Fact>;
  readonly #problems: Quota<readonly Problem[]>;
  readonly #of: string;
  readonly #events: StoreQuotaEvents;

  /** `of` names the whole set of objects in problems. */
  constructor(
    of: string,
    limits: readonly Limit<Fact>[],
    mostProblems: number,
    events: StoreQuotaEvents,
  ) {
    this.#of = of;
    this.#events = events;
    this.#facts = new Quota(limits);
    this.#problems = new Quota([
      { reason: "too-many-problems", most: mostProblems, weigh: ({ length }) => length },
    ]);
  }

  /** True while facts are rejected. */
  get isFull(): boolean {
    return this.#facts.reason !== undefined;
  }

  /** As `Quota.rejection`. */
  rejection(key: string): Reason | undefined {
    return this.#facts.rejection(key);
  }

  /** As `Quota.expect`. */
  expect(keys: Iterable<string>): void {
    this.#facts.expect(keys);
  }

  /** As `Quota.listed`. */
  listed(): boolean {
    return this.#facts.listed();
  }

  /** The part of `parsed` that may be stored in place of `before`. */
  admit(key: string, parsed: Parsed<Fact>, before: Stored<Fact> | undefined): Parsed<Fact> {
    const overflow = this.#overflow();
    const { fact, ...rest } = parsed;
    const isTaken = this.#facts.take(key, fact, before?.fact);
    const problems = isTaken ? rest.problems : [];
    const areTaken = this.#problems.take(key, nonEmpty(problems), nonEmpty(before?.problems));
    const next = this.#overflow();
    if (next.join() !== overflow.join()) {
      const object = this.#of;
      const report = next.map((reason) => ({ reason, object, field: "metadata", value: "" }));
      this.#events.problems(object, report);
    }
    const kept = isTaken ? fact : undefined;
    const isLess = before?.fact !== undefined && this.#facts.makesRoom(before.fact, kept);
    if (this.isFull && isLess) this.#events.room();
    return {
      ...rest,
      ...(isTaken && fact !== undefined && { fact }),
      problems: areTaken ? problems : [],
    };
  }

  #overflow() {
    return [this.#facts.reason, this.#problems.reason].filter((reason) => reason !== undefined);
  }
}

function nonEmpty(problems: readonly Problem[] = []): readonly Problem[] | undefined {
  return problems.length === 0 ? undefined : problems;
}
