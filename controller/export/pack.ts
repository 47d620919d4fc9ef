import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { SliceFact } from "../model/facts.ts";
import { MOST_PACKED } from "../model/limits.ts";
import { sameEndpoints } from "../model/same-endpoints.ts";
import { type EndpointGroup, groupKey } from "./endpoint-groups.ts";
import { fill } from "./fill.ts";

/** Whose endpoints are packed, and what new slices of theirs are called. */
export interface Packing {
  readonly service: ObjectKey;
  /** Those that the service has. */
  readonly families: readonly Family[];
  /** The key of slice `index` of a family; a slice never changes its family, so no two families share a key. */
  readonly keyOf: (family: Family, index: number) => ObjectKey;
}

/**
 * The slices that should be there, given those that are (`published`, all of them of one service) and the endpoints
 * that are wanted. Each holds at most `MOST_PACKED` endpoints of one group; each endpoint stays where it is; as few
 * slices change as possible, and empty ones are left out. What is there already is returned as it is. In order of key.
 *
 * A family whose last endpoint goes keeps its slices, emptied, and one that never had any gets an empty one, as it has
 * of Kubernetes. "Nobody" is a statement then, and believed at once: a list that misses slices may be doubted.
 */
export function pack(
  published: readonly SliceFact[],
  groups: readonly EndpointGroup[],
  { service, families, keyOf }: Packing,
): SliceFact[] {
  const wanted = new Set(groups.map(({ family, ports }) => groupKey(family, ports)));
  const byGroup = Map.groupBy(published.toSorted(byKey), ({ family, ports }) =>
    groupKey(family, ports),
  );
  // A group that is gone leaves its slices to a new one: when a port changes its number, all do so in one write.
  const left = [...byGroup].flatMap(([key, slices]) => (wanted.has(key) ? [] : slices));
  const taken = new Set(published.map(({ key }) => key));
  const next = (family: Family): ObjectKey => {
    const reused = left.find((slice) => slice.family === family);
    if (reused !== undefined) {
      left.splice(left.indexOf(reused), 1);
      return reused.key;
    }
    let index = 0;
    while (taken.has(keyOf(family, index))) index++;
    const key = keyOf(family, index);
    taken.add(key);
    return key;
  };
  const slices = groups.flatMap(({ family, ports, endpoints }) => {
    const before = byGroup.get(groupKey(family, ports)) ?? [];
    const lists = fill(
      before.map((slice) => slice.endpoints),
      endpoints,
      MOST_PACKED,
    );
    return lists.flatMap((list, i) => {
      const slice = before[i];
      if (list.length === 0) return [];
      if (slice === undefined)
        return [{ key: next(family), service, family, ports, endpoints: list }];
      return [sameEndpoints(slice.endpoints, list) ? slice : { ...slice, endpoints: list }];
    });
  });
  const empty = families
    .filter((family) => !slices.some((slice) => slice.family === family))
    .flatMap((family): SliceFact[] => {
      const before = published.filter((slice) => slice.family === family).map(emptied);
      return before.length > 0
        ? before
        : [{ key: next(family), service, family, ports: [], endpoints: [] }];
    });
  return [...slices, ...empty].sort(byKey);
}

function emptied(slice: SliceFact): SliceFact {
  return slice.endpoints.length === 0 ? slice : { ...slice, endpoints: [] };
}

function byKey(a: SliceFact, b: SliceFact): number {
  return a.key < b.key ? -1 : 1;
}
