import type { ObjectKey } from "../../api/names.ts";
import type { EndpointFact, SliceFact } from "../model/facts.ts";

/** Share of the ready endpoints, of all or of each of two Services, that must become unready. */
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
  /** Of these, Services that lost nearly all (`lostMost`). */
  readonly lost: number;
  /** Endpoints that were ready before, of all Services. */
  readonly before: number;
}

/** True if so many of a Service's ready endpoints became unready that it counts as lost. PURE. */
export function lostMost(turned: number, before: number): boolean {
  return turned > 0 && turned >= SHARE * before;
}

/**
 * True if so many became unready that the report is more likely wrong: after an outage of the API server, kubelets
 * count as dead for a while, with all their pods. Two lost Services are enough: a third one, whose endpoints no kubelet reports, such as
 * those written by hand or with `publishNotReadyAddresses`, may have any number of them. PURE.
 */
export function isMassUnreadiness(numbers: MassUnreadiness): boolean {
  const { endpoints, services, lost, before } = numbers;
  return lost >= SERVICES || (services >= SERVICES && lostMost(endpoints, before));
}

/** Number of endpoints. PURE. */
export function sizeOf(sets: EndpointSets): number {
  let size = 0;
  for (const addresses of sets.values()) size += addresses.size;
  return size;
}

/**
 * The slice with held-back endpoints: not ready, so that ready ones are preferred, but serving, as a last resort. Importers of a headless service count
 * them as ready (`inUse`). PURE.
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
