import type { Cidr } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Origin } from "../../api/tiers/origin.ts";
import type { TierPolicy } from "../../api/tiers/tier-policy.ts";
import { tiersOf } from "../../api/tiers/tiers.ts";
import {
  type Contribution,
  type ImportableSlice,
  importableSlices,
} from "../import/imported-slices.ts";
import type { MergedService } from "../merge/merged.ts";
import type { ServiceFact, ServicePort, ServiceProperties } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { failoverSlice } from "./failover-slice.ts";
import { nearestRemote } from "./nearest-remote.ts";
import { withinLimits } from "./within-limits.ts";

/** Input of `failoverOf`. */
export interface FailoverInput {
  readonly service: ServiceFact & { readonly uid: string };
  /** The merged exports of all clusters; absent: none. */
  readonly merged?: MergedService;
  readonly contributions: readonly Contribution[];
  /** True if no unknown cluster that took part before can export the name. */
  readonly allSynced: boolean;
  /** True if it is known what every cluster exports. */
  readonly everySynced: boolean;
  /** The other clusters. */
  readonly others: readonly string[];
  /** Tiers of the ServiceImport here; absent: it does not exist yet. */
  readonly tiers?: TierPolicy;
  /** This cluster. */
  readonly here: Origin;
  /** The declared endpoint ranges of other clusters. */
  readonly declared: ReadonlyMap<string, readonly Cidr[]>;
  /** Clusters that the present failover slices of the Service come from. */
  readonly present: readonly string[];
  /** True if it is known what a cluster exports. */
  readonly isSynced: (cluster: string) => boolean;
  /** False for a cluster that is stale or drained. */
  readonly isInRotation: (cluster: string) => boolean;
}

/** Why a Service has failover slices, or none. */
export type FailoverReason = Extract<
  Reason,
  | "endpoint-cidrs-missing"
  | "endpoint-cidrs-open"
  | "failover-forbidden"
  | "failover-limit"
  | "failover-prepared"
  | "family-not-merged"
  | "import-missing"
  | "no-remote-endpoint"
  | "not-exported-elsewhere"
  | "not-heard"
  | "port-not-merged"
  | "service-external-name"
  | "service-headless"
  | "slice-foreign"
>;

/** The wanted failover slices of one Service. */
export interface FailoverWanted {
  readonly reason: FailoverReason;
  /** `keep`: the present ones stay as they are. */
  readonly slices: readonly Manifest[] | "keep";
  /** The clusters that they come from, in order of name. */
  readonly clusters: readonly string[];
}

/** Computes the failover slices of a Service that asks for them. PURE. */
export function failoverOf(input: FailoverInput): FailoverWanted {
  const { service, merged, contributions, present, isInRotation, isSynced, tiers, here } = input;
  const { properties } = service;
  if (properties === undefined) return without("service-external-name");
  if (properties.headless) return without("service-headless");
  // What a cluster exports that was not listed since the start is unknown.
  if (present.some((cluster) => !isSynced(cluster) && isInRotation(cluster))) return keep(present);
  if (merged === undefined && !input.allSynced) return keep(present);
  const remote = contributions.filter(({ record }) => record.cluster !== here.cluster);
  if (merged === undefined || remote.length === 0) {
    return unlessUnknown(without(notExported(input)), input);
  }
  // It is written next; until then its tiers are unknown.
  if (tiers === undefined) return { ...keep(present), reason: "import-missing" };
  const declaring = remote.filter(({ record }) => isDeclared(input.declared.get(record.cluster)));
  if (declaring.length === 0) {
    const isOpen = remote.some(({ record }) => input.declared.has(record.cluster));
    return without(isOpen ? "endpoint-cidrs-open" : "endpoint-cidrs-missing");
  }
  const all = importableSlices(merged, declaring).slices.filter(hasEndpoints);
  const inFamily = all.filter(({ slice }) => properties.families.includes(slice.family));
  const usable = inFamily.flatMap((one) => withPortsOf(properties, one));
  const { slices, limited } = withinLimits(nearestRemote(usable, tiersOf(tiers, here)));
  if (slices.length === 0) {
    const lost = inFamily.length === 0 ? "family-not-merged" : "port-not-merged";
    const isLost = all.length > 0 && usable.length === 0;
    return unlessUnknown(without(isLost ? lost : "no-remote-endpoint"), input);
  }
  return {
    reason: limited ? "failover-limit" : "failover-prepared",
    slices: slices.map((one) => failoverSlice(service, one)),
    clusters: namesIn(slices.map(({ cluster }) => cluster)),
  };
}

/** Why no other cluster is known to export the name. */
function notExported({ declared, everySynced, others }: FailoverInput): FailoverReason {
  if (everySynced) return "not-exported-elsewhere";
  // The registry of a cluster without ranges is not read.
  return others.every((cluster) => declared.has(cluster)) ? "not-heard" : "endpoint-cidrs-missing";
}

/** A Service without failover slices. */
export function without(reason: FailoverReason): FailoverWanted {
  return { reason, slices: [], clusters: [] };
}

function keep(present: readonly string[]): FailoverWanted {
  return { reason: "not-heard", slices: "keep", clusters: namesIn(present) };
}

/** Endpoints of a cluster that does not respond are better than none. */
function unlessUnknown(wanted: FailoverWanted, input: FailoverInput): FailoverWanted {
  const { isSynced, present } = input;
  return present.every(isSynced) ? wanted : keep(present);
}

/** A range of all addresses says nothing about where endpoints are. */
function isDeclared(ranges: readonly Cidr[] | undefined): boolean {
  return ranges?.every(({ bits }) => bits > 0) === true;
}

function hasEndpoints({ slice }: ImportableSlice): boolean {
  return slice.endpoints.length > 0;
}

/** A proxy finds the endpoints of a Service's port by the port's name. */
function withPortsOf({ ports }: ServiceProperties, { contribution, slice }: ImportableSlice) {
  const own = new Set(ports.map(joint));
  const kept = slice.ports.filter((port) => own.has(joint(port)));
  return kept.length === 0 ? [] : [{ contribution, slice: { ...slice, ports: kept } }];
}

function joint({ name, protocol }: ServicePort): string {
  return `${name} ${protocol}`;
}

function namesIn(clusters: readonly string[]): readonly string[] {
  return [...new Set(clusters)].sort();
}
