import type { EndpointFact } from "../model/facts.ts";
import { sameEndpoints } from "../model/facts.ts";

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
export function fillSlices(
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
