import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type EndpointFact, type SliceFact, sameEndpoints } from "../model/facts.ts";
import { MOST_PACKED } from "../model/limits.ts";
import { type EndpointGroup, groupKey } from "./endpoint-groups.ts";

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

/** A slice while it is filled. */
interface Bin {
  readonly endpoints: EndpointFact[];
  /** True if it has to be written or deleted anyway. */
  readonly changed: boolean;
}

/**
 * Distributes endpoints of one group over slices of at most `most`. `before`: the present slices; the result has a
 * list for each of them in the same order, and then the new ones. Endpoints stay in their slice. New ones go to
 * slices that change anyway, then to the fullest with room for all, then to a new one. Sparse slices are emptied: at
 * most twice as many as needed plus one are in use.
 */
function fillSlices(
  before: readonly (readonly EndpointFact[])[],
  wanted: readonly EndpointFact[],
  most: number,
): (readonly EndpointFact[])[] {
  const waiting = new Map(wanted.map((endpoint) => [endpoint.address, endpoint]));
  const allowed = 2 * Math.ceil(waiting.size / most) + 1;
  const bins = before.map((list) => keep(list, waiting, most));
  const used = inUse(bins).sort((a, b) => a.endpoints.length - b.endpoints.length);
  for (const sparse of used.slice(0, Math.max(0, used.length - allowed))) {
    for (const endpoint of sparse.endpoints.splice(0)) waiting.set(endpoint.address, endpoint);
  }
  place([...waiting.values()], bins, allowed, most);
  return bins.map(({ endpoints }) => endpoints);
}

/** Keeps the wanted endpoints of a slice, and removes them from `waiting`. */
function keep(
  list: readonly EndpointFact[],
  waiting: Map<string, EndpointFact>,
  most: number,
): Bin {
  const endpoints: EndpointFact[] = [];
  for (const { address } of list) {
    const endpoint = waiting.get(address);
    if (endpoint === undefined || endpoints.length === most) continue;
    waiting.delete(address);
    endpoints.push(endpoint);
  }
  return { endpoints, changed: !sameEndpoints(list, endpoints) };
}

/** Places all waiting endpoints; `allowed` slices have room for all. */
function place(waiting: EndpointFact[], bins: Bin[], allowed: number, most: number): void {
  const roomIn = ({ endpoints }: Bin) => most - endpoints.length;
  const move = (bin: Bin) => bin.endpoints.push(...waiting.splice(0, roomIn(bin)));
  // Fullest first, so that sparse ones may become empty.
  const open = inUse(bins).sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const bin of open) if (bin.changed) move(bin);
  const empty = bins.filter(({ endpoints }) => endpoints.length === 0);
  while (waiting.length > 0) {
    const more = open.length < allowed;
    // Reuse needs one write, instead of a delete and a create.
    const reused = more ? empty.shift() : undefined;
    const enough = open.find((bin) => roomIn(bin) >= waiting.length);
    const some = more ? undefined : open.find((bin) => roomIn(bin) > 0);
    const bin = reused ?? enough ?? some ?? { endpoints: [], changed: true };
    if (!bins.includes(bin)) bins.push(bin);
    if (!open.includes(bin)) open.push(bin);
    move(bin);
  }
}

function inUse(bins: readonly Bin[]): Bin[] {
  return bins.filter(({ endpoints }) => endpoints.length > 0);
}
