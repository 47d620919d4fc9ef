import { compareText, namesOf, type ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import {
  acceptablePart,
  acceptedMetadata,
  type MetadataRules,
} from "../import/accepted-metadata.ts";
import type { Contribution } from "../import/imported-slices.ts";
import type { DrainedCluster } from "../import/rotation-message.ts";
import { bySeniority, merge } from "../merge/merge.ts";
import type { MergedService } from "../merge/merged.ts";
import type { ExportRecord, ImportFact } from "../model/facts.ts";
import { decodeExports, encodeExports } from "../model/known-exports.ts";
import { limitedSlices } from "../registry/limited-slices.ts";
import { ruleShares, rulesOf } from "../registry/rule-shares.ts";
import type { LocalShare } from "./local-exports.ts";
import type { Members } from "./members.ts";

/** What all clusters export under one name, at one moment. */
export interface ExportedService {
  readonly merged: MergedService | undefined;
  /** Of the clusters that are listed. */
  readonly contributions: readonly Contribution[];
  /** What silent clusters last exported that were not listed since the start; part of `merged`. */
  readonly remembered: ReadonlyMap<string, ExportRecord>;
  /** What to show of other clusters on the import, from `exportsAnnotation`. */
  readonly exports: () => string | undefined;
  /** What is left out of a cluster's share, by cluster. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
  /** The exporting clusters that are drained, in order of ID. */
  readonly drained: readonly DrainedCluster[];
  /** The exporting clusters that are stale, in order of ID. */
  readonly stale: readonly string[];
  /** Why records and slices, or parts of slices, were rejected when they were read. */
  readonly rejected: readonly Reason[];
  /** What the endpoints within `maxRulesPerImport` cost a node. */
  readonly nodeRules: number;
  /** True if it is known what a cluster exports, and so what it does not. */
  readonly isSynced: (cluster: string) => boolean;
  /** True if it is known of every cluster. */
  readonly allSynced: boolean;
}

/** What the operator of this cluster decides about exports. */
export interface ExportRules extends MetadataRules {
  /** The cluster that decides conflicts, by namespace. */
  readonly deciders: ReadonlyMap<string, string>;
  /** The region of a cluster, whatever it publishes. */
  readonly clusterRegions: ReadonlyMap<string, string>;
  /** Limit of what a service costs a node. */
  readonly maxRulesPerImport: number;
}

/**
 * Merges the records of all members that are listed and trusted. `local`: what the local cluster exports, whatever its
 * registry shows; absent: as its registry shows it, which is what other clusters can read. `seen`: the present import, which
 * shows what clusters exported that were not listed since the start; absent: they are left out.
 */
export function exportedService(
  members: Members,
  key: ObjectKey,
  rules: ExportRules,
  local?: LocalShare,
  seen?: Pick<ImportFact, "clusters" | "exports">,
): ExportedService {
  // A snapshot: the reconcile awaits writes, and `members` may change meanwhile.
  const synced = new Map(
    [...members].map(({ id }) => [id, id === local?.cluster || members.isSynced(id, key)]),
  );
  const { isComplete } = members;
  const isSynced = (id: string) => synced.get(id) ?? isComplete;
  const allSynced = isComplete && synced.values().every((isSynced) => isSynced);
  const read = [...members].filter(
    ({ id }) => id !== local?.cluster && members.state(id)?.isRead === true,
  );
  const published = read.flatMap((member) => {
    const record = member.record(key);
    if (record === undefined) return [];
    const { id: cluster, slices } = member;
    const rejected = [...slices.reasonsOf(key), ...(record.leftOut ?? [])];
    return [{ cluster, record, slices: slices.factsOf(key), rejected }];
  });
  const own = local?.record === undefined ? [] : [{ ...local, record: local.record, rejected: [] }];
  const exporting = [...own, ...published];
  const listed = new Set(exporting.map(({ cluster }) => cluster));
  const remembered = (allSynced ? [] : decodeExports(seen?.exports, key)).filter(
    ({ cluster: id }) => !listed.has(id) && !isSynced(id) && members.isSilent(id),
  );
  const records = [...exporting.map(({ record }) => record), ...remembered];
  const merged = merge(records, rules.deciders.get(namesOf(key).namespace));
  const costs = exporting.map(({ slices }) => (merged ? rulesOf(slices, merged) : 0));
  const shares = ruleShares(costs, rules.maxRulesPerImport);
  const contributions: Contribution[] = [];
  const problems = new Map<string, readonly Problem[]>();
  for (const [i, { cluster: id, record, slices }] of exporting.entries()) {
    const share = limitedSlices(slices, merged ?? record, shares[i] ?? 0);
    if (share.problems.length > 0) problems.set(id, share.problems);
    const described = members.state(id)?.description.current;
    const region = rules.clusterRegions.get(id) ?? described?.region;
    const cluster = described && { ...described, ...(region !== undefined && { region }) };
    contributions.push({
      record,
      slices: share.slices,
      ...members.rotation(id),
      ...(cluster !== undefined && { cluster }),
    });
  }
  const accepted = merged && acceptedMetadata(merged, records, rules);
  for (const [cluster, omitted] of accepted?.problems ?? []) {
    problems.set(cluster, [...(problems.get(cluster) ?? []), ...omitted]);
  }
  const unlisted = seen?.clusters.filter((id) => !isSynced(id)) ?? [];
  const exporters = [...new Set([...records.map(({ cluster }) => cluster), ...unlisted])];
  exporters.sort(compareText);
  return {
    merged: merged && accepted && { ...merged, metadata: accepted.metadata },
    contributions,
    remembered: new Map(remembered.map((record) => [record.cluster, record])),
    exports: () => exportsAnnotation(records, rules),
    drained: exporters.flatMap((cluster) => {
      const drain = members.state(cluster)?.drain;
      return drain === undefined ? [] : [{ cluster, drain }];
    }),
    // After a restart, a hub that cannot be reached shows no member.
    stale: exporters.filter((cluster) =>
      members.state(cluster) === undefined
        ? cluster !== local?.cluster && members.isSilent(cluster)
        : members.rotation(cluster).state === "stale",
    ),
    problems,
    rejected: [
      ...read.flatMap(({ records }) => [...records.rejectionsOf(key)]),
      ...published.flatMap(({ rejected }) => rejected),
    ],
    nodeRules: costs.reduce((sum, cost, i) => sum + Math.min(cost, shares[i] ?? 0), 0),
    isSynced,
    allSynced,
  };
}

/**
 * The value of `ANNOTATION_EXPORTS`: the exports of other clusters, oldest first, with the labels and annotations that this
 * cluster accepts. What it does not accept is not shown to users of the namespace. Undefined if no other cluster exports.
 */
function exportsAnnotation(
  records: readonly ExportRecord[],
  rules: MetadataRules,
): string | undefined {
  const others = bySeniority(records.filter(({ cluster }) => cluster !== rules.own));
  return encodeExports(others.map((one) => ({ ...one, metadata: acceptablePart(one, rules) })));
}
