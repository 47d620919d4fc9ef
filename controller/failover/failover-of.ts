import type { Cidr } from "../../api/cidr.ts";
import { compareText } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Tiers, tiersOf } from "../../api/tiers/tiers.ts";
import {
  type Contribution,
  type ImportableSlice,
  importableSlices,
} from "../import/imported-slices.ts";
import { joint, ownNames } from "../merge/port-names.ts";
import type { ServiceProperties } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import { ruleShares } from "../registry/rule-shares.ts";
import type { FailoverInput } from "./failover-input.ts";
import {
  encodeFailoverSlice,
  type FailoverSlice,
  failoverSlice,
  READY,
  SERVING_TERMINATING,
} from "./failover-slice.ts";
import { portKey } from "./local-endpoints.ts";
import { nearestRemote, type RemoteSlice } from "./nearest-remote.ts";

/** Why a Service has failover slices, or none. */
export type FailoverReason = Extract<
  Reason,
  | "endpoint-cidrs-missing"
  | "endpoint-cidrs-open"
  | "endpoint-local"
  | "failover-forbidden"
  | "failover-limit"
  | "failover-prepared"
  | "family-not-merged"
  | "import-missing"
  | "local-terminating"
  | "no-remote-endpoint"
  | "not-exported-elsewhere"
  | "not-heard"
  | "port-not-merged"
  | "service-external-name"
  | "service-headless"
  | "slice-foreign"
  | "slice-refused"
  | "too-much-memory"
  | "traffic-policy-local"
  | "unready-published"
>;

/** What is reported of the failover slices of one Service. */
export interface FailoverResult {
  readonly reason: FailoverReason;
  /** The clusters that they come from, in order of name. */
  readonly clusters: readonly string[];
}

/** The wanted failover slices of one Service. */
export interface FailoverWanted extends FailoverResult {
  readonly slices: readonly Manifest[];
}

/** What other clusters have for a Service, and why it is all, or nothing. */
interface Usable {
  readonly reason: FailoverReason;
  readonly slices: readonly RemoteSlice[];
}

/** Computes the failover slices of a Service that asks for them. PURE. */
export function failoverOf(input: FailoverInput): FailoverWanted {
  const { service, merged, contributions, tiers, here } = input;
  const { properties } = service;
  if (properties === undefined) return without("service-external-name");
  if (properties.headless) return without("service-headless");
  if (properties.internalTrafficPolicy === "Local") return without("traffic-policy-local");
  const remote = contributions.filter(({ record }) => record.cluster !== here.cluster);
  // Its ports are unknown: what was written stays, while its cluster may export.
  if (service.isReduced) return written("too-much-memory", stillExported(remote, input), input);
  if (merged === undefined || remote.length === 0) {
    return wantedOf({ reason: notExported(input), slices: [] }, input);
  }
  // It is written next; until then its tiers are unknown.
  if (tiers === undefined) return written("import-missing", presentSlices(input.present), input);
  const declaring = remote.filter(({ record }) => isDeclared(input.declared.get(record.cluster)));
  if (declaring.length === 0) {
    const isOpen = remote.some(({ record }) => input.declared.has(record.cluster));
    const reason = isOpen ? "endpoint-cidrs-open" : "endpoint-cidrs-missing";
    return wantedOf({ reason, slices: [] }, input);
  }
  const all = importableSlices(merged, declaring).slices;
  const names = ownNames(properties.ports, merged.ports);
  const local = all.map((one) => withOwnNames(names, one));
  return wantedOf(usableOf(local, properties, tiersOf(tiers, here), input), input);
}

function usableOf(
  importable: readonly ImportableSlice[],
  properties: ServiceProperties,
  tiers: Tiers,
  { local, service: { publishesUnready } }: FailoverInput,
): Usable {
  const all = importable.filter(hasEndpoints);
  const inFamily = all.filter(({ slice }) => properties.families.includes(slice.family));
  const matching = inFamily.filter(({ slice }) => slice.ports.length > 0);
  // An address that is listed twice is one endpoint to a proxy, and its local state must count.
  const elsewhere = matching
    .map((one) => withoutAddresses(local.addresses, one))
    .filter(hasEndpoints);
  const { slices, limited } = withinLimits(nearestRemote(elsewhere, tiers));
  if (slices.length > 0) {
    const unless = publishesUnready ? "unready-published" : "failover-prepared";
    return { reason: limited ? "failover-limit" : unless, slices };
  }
  if (all.length === 0 || elsewhere.length > 0) return { reason: "no-remote-endpoint", slices };
  if (inFamily.length === 0) return { reason: "family-not-merged", slices };
  return { reason: matching.length === 0 ? "port-not-merged" : "endpoint-local", slices };
}

/** Slices of a cluster that was not listed may have to stay; those of other clusters follow what is known. */
function wantedOf({ reason, slices }: Usable, input: FailoverInput): FailoverWanted {
  const usable = slices.map((one) => failoverSlice(input.service.key, one));
  const kept = notHeard(usable, input);
  return written(kept.length > 0 ? "not-heard" : reason, [...usable, ...kept], input);
}

/** Endpoints that are ready in their cluster are so here, too, while the last local ones terminate. */
function written(
  reason: FailoverReason,
  slices: readonly FailoverSlice[],
  { local, service }: FailoverInput,
): FailoverWanted {
  const first = slices.filter(
    ({ family, ports, ready }) => ready && local.areTerminating(family, ports),
  );
  return {
    reason: reason === "failover-prepared" && first.length > 0 ? "local-terminating" : reason,
    slices: slices.map((slice) =>
      encodeFailoverSlice(slice, service, first.includes(slice) ? READY : SERVING_TERMINATING),
    ),
    clusters: namesIn(slices.map(({ cluster }) => cluster)),
  };
}

/** Why no other cluster is known to export the name. */
function notExported({ allSynced, declared, everySynced, others }: FailoverInput): FailoverReason {
  if (everySynced) return "not-exported-elsewhere";
  // The registry of a cluster without ranges is not read.
  const isUnknown = !allSynced || others.every((cluster) => declared.has(cluster));
  return isUnknown ? "not-heard" : "endpoint-cidrs-missing";
}

/** A Service without failover slices. */
export function without(reason: FailoverReason): FailoverWanted {
  return { reason, slices: [], clusters: [] };
}

/** A range of all addresses says nothing about where endpoints are. */
function isDeclared(ranges: readonly Cidr[] | undefined): boolean {
  return ranges?.every(({ bits }) => bits > 0) === true;
}

function hasEndpoints({ slice }: ImportableSlice): boolean {
  return slice.endpoints.length > 0;
}

function withoutAddresses(local: ReadonlySet<string>, one: ImportableSlice): ImportableSlice {
  const endpoints = one.slice.endpoints.filter(({ address }) => !local.has(address));
  return { ...one, slice: { ...one.slice, endpoints } };
}

/** Those of its ports that the Service has, under the Service's names: a proxy finds the endpoints of a port by its name. */
function withOwnNames(
  names: ReadonlyMap<string, string>,
  { contribution, slice }: ImportableSlice,
): ImportableSlice {
  const ports = slice.ports.flatMap((port) => {
    const name = names.get(joint(port));
    return name === undefined ? [] : [{ ...port, name }];
  });
  return { contribution, slice: { ...slice, ports } };
}

/** Names, each once, in order. */
export function namesIn(clusters: readonly string[]): readonly string[] {
  return [...new Set(clusters)].sort();
}

/**
 * The present slices that stay, of clusters that were not listed since the start. A slice keeps the ports that the Service has; once its
 * cluster is out of rotation, only those without a ready endpoint among the `wanted` slices. At most as many as a Service may have. PURE.
 */
function notHeard(
  wanted: readonly FailoverSlice[],
  { isInRotation, isSynced, local, present, service }: FailoverInput,
): readonly FailoverSlice[] {
  const { families = [], ports: own = [] } = service.properties ?? {};
  const used = new Set(families.flatMap((family) => own.map((port) => portKey(family, port))));
  const ready = new Set(wanted.filter((slice) => slice.ready).flatMap(portsOf));
  const names = new Set(wanted.map(({ key }) => key));
  const kept = presentSlices(present).flatMap((slice) => {
    const { cluster, family, key } = slice;
    if (isSynced(cluster) || names.has(key)) return [];
    const ports = slice.ports.filter((port) => {
      const name = portKey(family, port);
      return used.has(name) && (isInRotation(cluster) || !ready.has(name));
    });
    const addresses = slice.addresses.filter((address) => !local.addresses.has(address));
    return ports.length === 0 || addresses.length === 0 ? [] : [{ ...slice, addresses, ports }];
  });
  const byFamily = Map.groupBy(kept, ({ family }) => family).values();
  return [...byFamily].flatMap((slices) => slices.slice(0, MOST_FAILOVER_SLICES));
}

/** The present slices of clusters that export the name, or may. */
function stillExported(
  remote: readonly Contribution[],
  { isSynced, present }: FailoverInput,
): readonly FailoverSlice[] {
  const exporting = new Set(remote.map(({ record }) => record.cluster));
  return presentSlices(present).filter(
    ({ cluster }) => exporting.has(cluster) || !isSynced(cluster),
  );
}

/** Present slices whose source cluster is known, in order of key. Their endpoints count as not ready. */
function presentSlices(present: readonly FailoverSliceFact[]): readonly FailoverSlice[] {
  return present
    .toSorted((a, b) => compareText(a.key, b.key))
    .flatMap(({ cluster, ...slice }) =>
      cluster === undefined ? [] : [{ ...slice, cluster, ready: false }],
    );
}

function portsOf({ family, ports }: FailoverSlice): readonly string[] {
  return ports.map((port) => portKey(family, port));
}

/** Endpoints of one Service and IP family: as many as Kubernetes lists in its Endpoints object. */
export const MOST_FAILOVER_ENDPOINTS = 1000;
/** Slices of the same; ten endpoints in each reach the other limit. */
export const MOST_FAILOVER_SLICES = 100;

/** Cuts the slices to the limits, so that no cluster gets less than an equal share because of others. PURE. */
function withinLimits(slices: readonly RemoteSlice[]): {
  readonly slices: readonly RemoteSlice[];
  readonly limited: boolean;
} {
  const families = Map.groupBy(slices, ({ slice }) => slice.family).values();
  const kept = [...families].flatMap(familyWithinLimits);
  return { slices: kept, limited: endpointsOf(kept) < endpointsOf(slices) };
}

function familyWithinLimits(slices: readonly RemoteSlice[]): RemoteSlice[] {
  // In the same order in every replica.
  const ordered = slices.toSorted((a, b) => compareText(a.slice.key, b.slice.key));
  const byCluster = [...Map.groupBy(ordered, ({ cluster }) => cluster).values()];
  const most = ruleShares(
    byCluster.map(({ length }) => length),
    MOST_FAILOVER_SLICES,
  );
  const fewer = byCluster.map((list, i) => list.slice(0, most[i]));
  const endpoints = ruleShares(fewer.map(endpointsOf), MOST_FAILOVER_ENDPOINTS);
  return fewer.flatMap((list, i) => firstEndpoints(list, endpoints[i] ?? 0));
}

function firstEndpoints(slices: readonly RemoteSlice[], most: number): RemoteSlice[] {
  let left = most;
  return slices.flatMap((one) => {
    const endpoints = one.slice.endpoints.slice(0, left);
    left -= endpoints.length;
    return endpoints.length === 0 ? [] : [{ ...one, slice: { ...one.slice, endpoints } }];
  });
}

function endpointsOf(slices: readonly RemoteSlice[]): number {
  return slices.reduce((sum, { slice }) => sum + slice.endpoints.length, 0);
}
