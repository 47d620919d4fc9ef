import type { Parsed } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Limit } from "../registry/registry-limits.ts";
import { type Applicant, Quota } from "./quota.ts";

/** What a `StoreQuota` reports. */
export interface StoreQuotaEvents {
  /** All problems of what one namespace publishes. */
  problems(object: string, problems: readonly Problem[]): void;
  /** Rejected objects fit now: they have to be listed again. */
  room(): void;
}

/** Dependencies of a `StoreQuota`. */
export interface StoreQuotaOptions<Fact> {
  /** What the objects are and where, for the problems of a namespace: "ServiceImports", "registry-c1". */
  readonly kind: string;
  readonly place: string;
  readonly limits: readonly Limit<Fact>[];
  readonly mostProblems: number;
  /** The namespace of the Service of an object. */
  readonly ownerOf: (key: string) => string;
  readonly events: StoreQuotaEvents;
}

/** What a store does when an object, or its problems, lose their place. */
export interface Evictions {
  fact(key: string): void;
  problems(key: string): void;
}

/** Limits the facts and problems that a store keeps. Each kind of overflow is reported once for a namespace, whatever its size. */
export class StoreQuota<Fact> {
  readonly #facts: Quota<Fact>;
  readonly #problems: Quota<readonly Problem[]>;
  readonly #options: StoreQuotaOptions<Fact>;
  #evictions: Evictions | undefined;
  /** Reasons of facts, and of problems, by namespace. */
  readonly #overflow = [new Map<string, readonly Reason[]>(), new Map<string, readonly Reason[]>()];

  constructor(options: StoreQuotaOptions<Fact>) {
    const { limits, mostProblems, events } = options;
    this.#options = options;
    this.#facts = new Quota(limits, {
      evicted: (key) => this.#evictions?.fact(key),
      rejects: (owner, reasons) => this.#report(0, owner, reasons),
      room: () => events.room(),
    });
    this.#problems = new Quota(
      [{ reason: "too-many-problems", most: mostProblems, weigh: ({ length }) => length }],
      {
        evicted: (key) => this.#evictions?.problems(key),
        rejects: (owner, reasons) => this.#report(1, owner, reasons),
        room: () => events.room(),
      },
    );
  }

  /** The store whose objects these are. */
  serve(evictions: Evictions): void {
    this.#evictions = evictions;
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
    const problems = isTaken ? rest.problems : [];
    const areTaken = this.#problems.take(applicant, problems.length > 0 ? problems : undefined);
    return {
      ...rest,
      ...(isTaken && fact !== undefined && { fact }),
      problems: areTaken ? problems : [],
    };
  }

  #report(which: 0 | 1, owner: string, reasons: readonly Reason[]): void {
    const { kind, place, events } = this.#options;
    if (reasons.length === 0) this.#overflow[which]?.delete(owner);
    else this.#overflow[which]?.set(owner, reasons);
    const object = `${kind} of namespace ${owner} in ${place}`;
    const all = this.#overflow.flatMap((by) => by.get(owner) ?? []);
    events.problems(
      object,
      all.map((reason) => ({ reason, object, field: "metadata", value: "" })),
    );
  }
}
