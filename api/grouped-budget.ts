import { FairBudget } from "./fair-budget.ts";

/** What an object gets that does not get all that it asks for. */
export interface RestrictedOfGroup {
  /** As in `Restricted`. */
  readonly grant: number;
  /** The limit that applies: of its group, or of all. */
  readonly by: "group" | "all";
}

/**
 * Shares a limit among groups, and what a group gets among its objects, both max-min fair: what one object asks for beyond an equal share takes nothing from the
 * others of its group, and nothing from other groups. Shares are coarse. As with `FairBudget`, the same objects give the same result.
 */
export class GroupedBudget<Key extends string> {
  readonly #mostOfGroup: number;
  readonly #groups: FairBudget<string>;
  readonly #objects = new Map<string, FairBudget<Key>>();
  /** Groups of which an object has changed. */
  readonly #touched = new Set<string>();
  #changed = new Set<Key>();

  /** `mostOfGroup`: another limit, which applies to each group alone. */
  constructor(most: number, mostOfGroup = Number.POSITIVE_INFINITY) {
    this.#mostOfGroup = mostOfGroup;
    this.#groups = new FairBudget(most, { isCoarse: true });
  }

  /** As `FairBudget.set`. An object stays in its group. */
  set(key: Key, group: string, since: number, cost: number, least: number): void {
    const objects =
      this.#objects.get(group) ?? new FairBudget(this.#mostOfGroup, { isCoarse: true });
    this.#objects.set(group, objects);
    objects.set(key, key, since, cost, least);
    this.#groups.set(group, group, 0, Math.min(objects.asked, this.#mostOfGroup), 1);
    this.#touched.add(group);
  }

  /** Undefined if an object of this group gets all that it asks for. */
  restricted(key: Key, group: string): RestrictedOfGroup | undefined {
    this.#settle();
    const restricted = this.#objects.get(group)?.restricted(key);
    if (restricted === undefined) return undefined;
    const by = this.#groups.restricted(group) === undefined ? "group" : "all";
    return { ...restricted, by };
  }

  /** Objects that get more or less than at the last call, or for another reason, or that appeared and get less than they ask for. */
  takeChanged(): ReadonlySet<Key> {
    this.#settle();
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #settle(): void {
    if (this.#touched.size === 0) return;
    for (const group of this.#groups.takeChanged()) {
      const { grant } = this.#groups.restricted(group) ?? { grant: this.#mostOfGroup };
      this.#objects.get(group)?.limit(grant);
      this.#touched.add(group);
    }
    for (const group of this.#touched) {
      const objects = this.#objects.get(group);
      for (const key of objects?.takeChanged() ?? []) this.#changed.add(key);
      if (objects?.asked === 0) this.#objects.delete(group);
    }
    this.#touched.clear();
  }
}
