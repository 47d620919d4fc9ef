import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { SliceFact } from "../model/facts.ts";
import { sameEndpoints } from "../model/facts.ts";
import { MOST_PACKED } from "../model/limits.ts";
import { type EndpointGroup, groupKey } from "./endpoint-groups.ts";
import { fillSlices } from "./fill-slices.ts";

/** The Service, and the names of its new slices. */
export interface Packing {
  readonly service: ObjectKey;
  readonly families: readonly Family[];
  /** The key of slice `index` of a family; keys of different families differ. */
  readonly keyOf: (family: Family, index: number) => ObjectKey;
}

/**
 * Computes the wanted slices from the present ones (`published`, of one Service) and the wanted endpoints, with as
 * few changes as possible: each slice has at most `MOST_PACKED` endpoints of one group, and endpoints stay in their
 * slice. In order of key.
 *
 * A family without endpoints keeps its slices, emptied, or gets an empty one: an empty slice states that there is no
 * endpoint, while a missing slice may be a lost object.
 */
export function packSlices(
  published: readonly SliceFact[],
  groups: readonly EndpointGroup[],
  { service, families, keyOf }: Packing,
): SliceFact[] {
  const wanted = new Set(groups.map(({ family, ports }) => groupKey(family, ports)));
  const byGroup = Map.groupBy(published.toSorted(byKey), ({ family, ports }) =>
    groupKey(family, ports),
  );
  // The slices of a removed group are reused: a changed port number then takes one write per slice.
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
    const lists = fillSlices(
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
