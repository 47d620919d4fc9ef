import type { Cidr } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Tiers, tiersOf } from "../../api/tiers/tiers.ts";
import { type ImportableSlice, importableSlices } from "../import/imported-slices.ts";
import { joint, ownNames } from "../merge/port-names.ts";
import type { ServiceProperties } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { FailoverInput } from "./failover-input.ts";
import {
  encodeFailoverSlice,
  type FailoverSlice,
  failoverSlice,
  READY,
  SERVING_TERMINATING,
} from "./failover-slice.ts";
import { nearestRemote, type RemoteSlice } from "./nearest-remote.ts";
import { notHeard, presentSlices } from "./not-heard.ts";
import { withinLimits } from "./within-limits.ts";

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
