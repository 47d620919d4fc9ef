import type { GuardSets, ServerKey } from "./state.ts";

/** What becomes of the elements of one set: true if one is added, false if it is deleted. Nothing is named in vain. */
export type ElementChanges = ReadonlyMap<string, boolean>;

/** What becomes of the sets of the guard. */
export interface SetChanges {
  /** The import that a virtual server belongs to from now on; undefined for one that takes no new connections any more. */
  readonly served: ReadonlyMap<ServerKey, string | undefined>;
  readonly explicit: ElementChanges;
  readonly hairpins: ElementChanges;
}

/** What `wanted` says that `before` does not have; what it does not name goes if it is `complete`. PURE. */
export function changesOf(
  before: ReadonlySet<string>,
  wanted: ElementChanges,
  complete: boolean,
): Map<string, boolean> {
  const changes = new Map<string, boolean>();
  for (const [one, is] of wanted) if (is !== before.has(one)) changes.set(one, is);
  if (complete) for (const one of before) if (!wanted.has(one)) changes.set(one, false);
  return changes;
}

/** The elements that come, or those that go. PURE. */
export function those(changes: ElementChanges, come: boolean): Set<string> {
  return new Set([...changes].flatMap(([one, is]) => (is === come ? [one] : [])));
}

/** Changes a set. */
export function change(set: Set<string>, changes: ElementChanges): void {
  for (const [one, is] of changes) {
    if (is) set.add(one);
    else set.delete(one);
  }
}

/** Changes the sets of the guard. */
export function changeSets(sets: GuardSets, { served, explicit, hairpins }: SetChanges): void {
  for (const [key, importKey] of served) {
    if (importKey === undefined) sets.served.delete(key);
    else sets.served.set(key, importKey);
  }
  change(sets.explicit, explicit);
  change(sets.hairpins, hairpins);
}
