import type { Parsed } from "./parse/complaints.ts";
import type { Problem } from "./problem.ts";
import { type Applicant, type Held, type Limit, Quota, type QuotaEvents } from "./quota.ts";
import type { Reason } from "./reasons.ts";

/** What a `StoreQuota` reports. */
export interface StoreQuotaEvents {
  /** All problems of what one namespace publishes. */
  problems(object: string, problems: readonly Problem[]): void;
  /** Rejected objects, or their problems, fit now: they have to be listed again. */
  room(): void;
}

/** Dependencies of a `StoreQuota`. */
export interface StoreQuotaOptions<Fact> {
  /** What the objects are and where, for the problems of a namespace: "ServiceImports", "registry-c1". */
  readonly kind: string;
  /** Absent: the API server of this program. */
  readonly place?: string;
  readonly limits: readonly Limit<Fact>[];
  readonly mostProblems: number;
  /** The namespace of the Service of an object. */
  readonly ownerOf: (key: string) => string;
  /** What is kept of a fact without room: little, and what nothing else may take meanwhile. Absent: nothing. */
  readonly reduce?: (fact: Fact) => Fact;
  readonly events: StoreQuotaEvents;
}

/** A kept object. */
export interface Stored<Fact> {
  readonly fact: Fact | undefined;
  readonly problems: readonly Problem[];
  /** As in `Applicant`. */
  readonly since: number;
}

/** A store whose objects a `StoreQuota` limits. */
export interface LimitedStore<Fact> {
  stored(key: string): Stored<Fact> | undefined;
  allStored(): Iterable<readonly [key: string, object: Stored<Fact>]>;
  /** An object loses its place. */
  evictFact(key: string): void;
  evictProblems(key: string): void;
}

/** Limits the facts and problems that a store keeps. Each kind of overflow is reported once for a namespace, whatever its size. */
export class StoreQuota<Fact> {
  readonly #facts: Quota<Fact>;
  readonly #problems: Quota<readonly Problem[]>;
  readonly #options: StoreQuotaOptions<Fact>;
  #store: LimitedStore<Fact> | undefined;
  /** Reasons of facts, and of problems, by namespace. */
  readonly #overflow = [new Map<string, readonly Reason[]>(), new Map<string, readonly Reason[]>()];

  constructor(options: StoreQuotaOptions<Fact>) {
    const { limits, mostProblems } = options;
    this.#options = options;
    this.#facts = new Quota(limits, {
      ...this.#eventsOf(0, ({ fact }) => fact),
      evicted: (key) => this.#store?.evictFact(key),
    });
    this.#problems = new Quota(
      [{ reason: "too-many-problems", most: mostProblems, weigh: ({ length }) => length }],
      {
        ...this.#eventsOf(1, ({ problems }) => (problems.length === 0 ? undefined : problems)),
        evicted: (key) => this.#store?.evictProblems(key),
      },
    );
  }

  /** The store whose objects these are. */
  serve(store: LimitedStore<Fact>): void {
    this.#store = store;
  }

  /** As `Quota.rejection`. */
  rejection(key: string): Reason | undefined {
    return this.#facts.rejection(key);
  }

  /** As `Quota.begin`. */
  begin(): void {
    this.#facts.begin();
    this.#problems.begin();
  }

  /** As `Quota.end`. */
  end(): void {
    this.#facts.end();
    this.#problems.end();
  }

  /** The part of `parsed` that may be stored. `since`: when the object was created, in milliseconds since 1970. */
  admit(key: string, since: number, parsed: Parsed<Fact>): Parsed<Fact> {
    const { fact, ...rest } = parsed;
    const applicant: Applicant = { key, owner: this.#options.ownerOf(key), since };
    const isTaken = this.#facts.take(applicant, fact);
    const kept = isTaken ? fact : this.reduced(fact);
    const problems = isTaken ? rest.problems : [];
    const areTaken = this.#problems.take(applicant, problems.length > 0 ? problems : undefined);
    return {
      ...rest,
      ...(kept !== undefined && { fact: kept }),
      problems: areTaken ? problems : [],
    };
  }

  /** What is kept of a fact without room. */
  reduced(fact: Fact | undefined): Fact | undefined {
    return fact === undefined ? undefined : this.#options.reduce?.(fact);
  }

  #eventsOf<Part>(
    which: 0 | 1,
    partOf: (object: Stored<Fact>) => Part | undefined,
  ): Omit<QuotaEvents<Part>, "evicted"> {
    return {
      held: (key) => {
        const object = this.#store?.stored(key);
        return object && partOf(object);
      },
      allHeld: () => this.#allHeld(partOf),
      rejects: (owner, reasons) => this.#report(which, owner, reasons),
      room: () => this.#options.events.room(),
    };
  }

  *#allHeld<Part>(partOf: (object: Stored<Fact>) => Part | undefined): Generator<Held<Part>> {
    for (const [key, object] of this.#store?.allStored() ?? []) {
      const fact = partOf(object);
      const owner = this.#options.ownerOf(key);
      if (fact !== undefined) yield { key, owner, since: object.since, fact };
    }
  }

  #report(which: 0 | 1, owner: string, reasons: readonly Reason[]): void {
    const { kind, place, events } = this.#options;
    if (reasons.length === 0) this.#overflow[which]?.delete(owner);
    else this.#overflow[which]?.set(owner, reasons);
    const object = `${kind} of namespace ${owner}${place === undefined ? "" : ` in ${place}`}`;
    const all = this.#overflow.flatMap((by) => by.get(owner) ?? []);
    events.problems(
      object,
      all.map((reason) => ({ reason, object, field: "metadata", value: "" })),
    );
  }
}
