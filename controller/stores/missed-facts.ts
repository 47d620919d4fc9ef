import type { Removal } from "../../common/kubernetes/reflector-events.ts";
import type { Allowance } from "./allowance.ts";
import type { FactStore } from "./fact-store.ts";
import type { Sink } from "./feed.ts";

/** What `MissedFacts` are made of. */
export interface MissedFactsOptions<Fact> {
  /** Where the objects are kept that there are. */
  readonly store: FactStore<Fact>;
  readonly groupOf: (key: string) => string | undefined;
  /** How much is believed, of what is there and of what is missed. */
  readonly allowance: Allowance<Fact>;
  /** True while what a list lacks is gone. */
  readonly isGone: () => boolean;
}

/** Objects that a list lacks, as they were, while it is not known whether they are gone or not there yet. */
export class MissedFacts<Fact> implements Sink {
  readonly #options: MissedFactsOptions<Fact>;
  /** By group, and key. */
  readonly #missed = new Map<string, Map<string, Fact>>();

  constructor(options: MissedFactsOptions<Fact>) {
    this.#options = options;
  }

  changed(key: string, object: unknown): void {
    this.#forget(key);
    this.#options.store.changed(key, object);
  }

  removed(key: string, _at: number, how?: Removal): void {
    const { allowance, groupOf, isGone, store } = this.#options;
    const group = groupOf(key);
    const fact = store.fact(key);
    // That somebody has deleted it is believed at once.
    const isMissed = how === "missing" && !isGone();
    if (!isMissed || group === undefined || fact === undefined) {
      store.removed(key);
      return;
    }
    const facts = this.#missed.get(group) ?? new Map<string, Fact>();
    this.#missed.set(group, facts.set(key, fact));
    store.removed(key);
    // It keeps its place: lists that lack all that was before, again and again, add nothing up.
    allowance.keep(fact);
  }

  /** What is believed of a group's objects, be they there or missed. */
  factsOf(group: string): Fact[] {
    return [...this.#options.store.factsOf(group), ...(this.#missed.get(group)?.values() ?? [])];
  }

  /** All groups that have an object, be it there or missed. */
  groups(): Set<string> {
    return new Set([...this.#options.store.groups(), ...this.#missed.keys()]);
  }

  /** What is missed is gone. Returns the groups that it belonged to. */
  release(): string[] {
    const groups = [...this.#missed.keys()];
    for (const facts of this.#missed.values()) {
      for (const [key, fact] of facts) this.#options.allowance.drop(key, fact);
    }
    this.#missed.clear();
    return groups;
  }

  #forget(key: string): void {
    const { allowance, groupOf } = this.#options;
    const group = groupOf(key);
    const facts = group === undefined ? undefined : this.#missed.get(group);
    const fact = facts?.get(key);
    if (group === undefined || facts === undefined || fact === undefined) return;
    allowance.drop(key, fact);
    facts.delete(key);
    if (facts.size === 0) this.#missed.delete(group);
  }
}
