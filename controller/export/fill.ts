import type { EndpointFact } from "../model/facts.ts";
import { sameEndpoints } from "../model/same-endpoints.ts";

/** One slice while it is filled. */
interface Bin {
  readonly endpoints: EndpointFact[];
  /** True if it has to be written, or deleted, in any case. */
  readonly changed: boolean;
}

/**
 * Spreads endpoints of one group over slices of at most `most`. `before` is what each slice lists now; the result has a
 * list for each of them, in the same order, perhaps an empty one, and then the new ones. Each endpoint stays where it
 * is. New ones go where something changes anyway, then to the fullest slice that has room for all that are left, then
 * to a new one. Slices that have become too sparse are given up: there are at most twice as many as needed, and one.
 */
export function fill(
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

/** A slice with what stays in it, as it is now; what stays is no longer waiting. */
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

/** Puts all that wait into `bins`, and opens some until `allowed` are in use: those surely have room for all. */
function place(waiting: EndpointFact[], bins: Bin[], allowed: number, most: number): void {
  const roomIn = ({ endpoints }: Bin) => most - endpoints.length;
  const move = (bin: Bin) => bin.endpoints.push(...waiting.splice(0, roomIn(bin)));
  // Fullest first: what becomes empty may then go.
  const open = inUse(bins).sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const bin of open) if (bin.changed) move(bin);
  const empty = bins.filter(({ endpoints }) => endpoints.length === 0);
  while (waiting.length > 0) {
    const more = open.length < allowed;
    // A slice that has become empty is written rather than deleted.
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
