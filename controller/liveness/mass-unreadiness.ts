import type { ObjectKey } from "../../api/names.ts";
import type { EndpointFact, SliceFact } from "../model/facts.ts";

/** Share of the ready endpoints that must become unready. */
const SHARE = 0.8;
/** Services they must belong to: the failure of one Service is normal. */
const SERVICES = 2;

/** Endpoint addresses by Service. */
export type EndpointSets = ReadonlyMap<ObjectKey, ReadonlySet<string>>;

/** Addresses that are ready and not terminating. PURE. */
export function readyAmong(slices: Iterable<SliceFact>): Set<string> {
  const ready = new Set<string>();
  for (const { endpoints } of slices) {
    for (const endpoint of endpoints) {
      if (endpoint.ready && !endpoint.terminating) ready.add(endpoint.address);
    }
  }
  return ready;
}

/** Endpoints that were ready when slices were published: those that are, and those held back. PURE. */
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

/** The addresses of `before` that are listed, unready and not terminating. PURE. */
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
  // An endpoint may be in two slices for a moment; one good state counts.
  for (const address of other) turned.delete(address);
  return turned;
}

/** Numbers of a mass unreadiness. */
export interface MassUnreadiness {
  /** Endpoints that became unready. */
  readonly endpoints: number;
  /** Services of these endpoints. */
  readonly services: number;
  /** Endpoints that were ready before, of all Services. */
  readonly before: number;
}

/**
 * True if so many became unready that the report is more likely wrong: after an outage of the API server, kubelets
 * count as dead for a while, with all their pods. PURE.
 */
export function isMassUnreadiness({ endpoints, services, before }: MassUnreadiness): boolean {
  return services >= SERVICES && endpoints >= SHARE * before;
}

/** Number of endpoints. PURE. */
export function sizeOf(sets: EndpointSets): number {
  let size = 0;
  for (const addresses of sets.values()) size += addresses.size;
  return size;
}

/**
 * The slice with held-back endpoints: not ready, so that ready ones are preferred, but serving, as a last resort.
 * PURE.
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
