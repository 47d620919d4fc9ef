import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { acceptedMetadata, type MetadataRules } from "../import/accepted-metadata.ts";
import type { Contribution } from "../import/imported-slices.ts";
import { merge } from "../merge/merge.ts";
import type { MergedService } from "../merge/merged.ts";
import { limitedSlices } from "../registry/limited-slices.ts";
import { ruleShares, rulesOf } from "../registry/rule-shares.ts";
import type { Members } from "./members.ts";

/** What all clusters export under one name, at one moment. */
export interface ExportedService {
  readonly merged: MergedService | undefined;
  readonly contributions: readonly Contribution[];
  /** What is left out of a cluster's share, by cluster. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
  /** Why records and slices, or parts of slices, were rejected when they were read. */
  readonly rejected: readonly Reason[];
  /** True if it is known what a cluster exports, and so what it does not. */
  readonly isSynced: (cluster: string) => boolean;
  /** True if it is known of every cluster. */
  readonly allSynced: boolean;
}

/** What the operator of this cluster decides about exports. */
export interface ExportRules extends MetadataRules {
  /** The cluster that decides conflicts, by namespace. */
  readonly deciders: ReadonlyMap<string, string>;
  /** Limit of what a service costs a node. */
  readonly maxRulesPerImport: number;
}

/** Merges the records of all members that are listed and trusted. */
export function exportedService(
  members: Members,
  key: ObjectKey,
  rules: ExportRules,
): ExportedService {
  const used = [...members].filter(
    (member) => member.listed && !member.isRewound && members.verdict(member.id)?.records === "use",
  );
  const exporting = used.flatMap((member) => {
    const record = member.record(key);
    return record === undefined ? [] : [{ member, record, published: member.slices.factsOf(key) }];
  });
  const records = exporting.map(({ record }) => record);
  const merged = merge(records, rules.deciders.get(namesOf(key).namespace));
  const costs = exporting.map(({ published }) => (merged ? rulesOf(published, merged) : 0));
  const shares = ruleShares(costs, rules.maxRulesPerImport);
  const contributions: Contribution[] = [];
  const problems = new Map<string, readonly Problem[]>();
  for (const [i, { member, record, published }] of exporting.entries()) {
    const share = limitedSlices(published, merged ?? record, shares[i] ?? 0);
    if (share.problems.length > 0) problems.set(member.id, share.problems);
    const cluster = members.description(member.id);
    contributions.push({
      record,
      slices: share.slices,
      state: members.state(member.id),
      ...(cluster !== undefined && { cluster }),
    });
  }
  // A snapshot: the reconcile awaits writes, and `members` may change meanwhile.
  const synced = new Map([...members].map(({ id }) => [id, members.isSynced(id)]));
  const { isComplete } = members;
  const accepted = merged && acceptedMetadata(merged, records, rules);
  for (const [cluster, omitted] of accepted?.problems ?? []) {
    problems.set(cluster, [...(problems.get(cluster) ?? []), ...omitted]);
  }
  return {
    merged: merged && accepted && { ...merged, metadata: accepted.metadata },
    contributions,
    problems,
    rejected: [
      ...used.flatMap(({ records }) => [...records.rejectionsOf(key)]),
      ...exporting.flatMap(({ member }) => [...member.slices.reasonsOf(key)]),
    ],
    isSynced: (id) => synced.get(id) ?? isComplete,
    allSynced: members.allSynced(),
  };
}
