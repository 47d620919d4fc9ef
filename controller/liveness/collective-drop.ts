import type { ObjectKey } from "../../api/names.ts";
import type { EndpointFact, SliceFact } from "../model/facts.ts";

/** Of the endpoints that were ready, the share that has to turn unready together. */
const SHARE = 0.8;
/** Services that they have to be of: one that fails as a whole is an everyday thing. */
const SERVICES = 2;

/** Addresses of endpoints, by Service. */
export type EndpointSets = ReadonlyMap<ObjectKey, ReadonlySet<string>>;

/** Addresses that take traffic as far as slices of one Service say: ready, and not about to go. PURE. */
export function readyAmong(slices: Iterable<SliceFact>): Set<string> {
  const ready = new Set<string>();
  for (const { endpoints } of slices) {
    for (const endpoint of endpoints) {
      if (endpoint.ready && !endpoint.terminating) ready.add(endpoint.address);
    }
  }
  return ready;
}

/**
 * What was ready, as slices that we have published tell: those that are, and those that were being held back. The
 * truth of no endpoint that stays is to be unready and to serve. PURE.
 */
export function publishedAsReady(slices: Iterable<SliceFact>): Map<ObjectKey, Set<string>> {
  const ready = new Map<ObjectKey, Set<string>>();
  for (const { service, endpoints } of slices) {
    for (const { address, serving, terminating } of endpoints) {
      if (!serving || terminating) continue;
      const addresses = ready.get(service) ?? new Set();
      ready.set(service, addresses.add(address));
    }
  }
  return ready;
}

/**
 * Those of `before` that are still listed by the slices of their Service, do not terminate, and are not ready. Who is
 * gone or going is not among them: that is somebody's wish, and true. PURE.
 */
export function turnedUnready(
  before: ReadonlySet<string>,
  slices: Iterable<SliceFact>,
): Set<string> {
  const turned = new Set<string>();
  const other = new Set<string>();
  for (const { endpoints } of slices) {
    for (const endpoint of endpoints) {
      if (before.has(endpoint.address)) {
        (isUnready(endpoint) ? turned : other).add(endpoint.address);
      }
    }
  }
  // While slices are rearranged, an endpoint may be in two of them: in doubt, nothing is held back.
  for (const address of other) turned.delete(address);
  return turned;
}

/** Endpoints that turned unready, in numbers. */
export interface Drop {
  /** Endpoints that are unready and were not. */
  readonly endpoints: number;
  /** Services that they are of. */
  readonly services: number;
  /** Endpoints that were ready before, in all Services. */
  readonly before: number;
}

/**
 * True if so many turned unready that the fault is more likely with who tells of it: kubelets that could not reach
 * their API server for a minute are taken for dead when it returns, and so are all their pods, which serve. PURE.
 */
export function isCollective({ endpoints, services, before }: Drop): boolean {
  return services >= SERVICES && endpoints >= SHARE * before;
}

/** Endpoints of all sets. PURE. */
export function sizeOf(sets: EndpointSets): number {
  let size = 0;
  for (const addresses of sets.values()) size += addresses.size;
  return size;
}

/**
 * The slice as it is published while some of its endpoints are held back: not ready, so that new connections leave them
 * wherever anybody is ready, and serving, so that they are there where nobody is. The same slice if none is. PURE.
 */
export function withHeld(slice: SliceFact, isHeld: (address: string) => boolean): SliceFact {
  let held = false;
  const endpoints = slice.endpoints.map((endpoint) => {
    if (!isUnready(endpoint) || endpoint.serving || !isHeld(endpoint.address)) return endpoint;
    held = true;
    return { ...endpoint, serving: true };
  });
  return held ? { ...slice, endpoints } : slice;
}

function isUnready({ ready, terminating }: EndpointFact): boolean {
  return !ready && !terminating;
}
