import { type Problem, shown } from "../../api/problem.ts";
import type { MergedService } from "../merge/merged.ts";
import { matchesKey, split } from "../model/exported-metadata.ts";
import type { ExportedMetadata, ExportRecord } from "../model/facts.ts";

/** Which labels and annotations this cluster's imports get from exports. */
export interface MetadataRules {
  /** This cluster. */
  readonly own: string;
  /** Peers whose policies are accepted. */
  readonly policiesFrom: readonly string[];
  /** Patterns of accepted keys. */
  readonly exportedKeys: readonly string[];
}

/** The labels and annotations of an import, and what was left out, by cluster. */
export interface AcceptedMetadata {
  readonly metadata: ExportedMetadata;
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

/** The part of an export's labels and annotations that an import has if this export decides. */
export function acceptablePart(
  { cluster, metadata }: ExportRecord,
  rules: MetadataRules,
): ExportedMetadata {
  const allowed = (map: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(map).filter(([name]) => matchesKey(rules.exportedKeys, name)),
    );
  const { policies, users } = split(metadata.annotations);
  const isAccepted = cluster === rules.own || rules.policiesFrom.includes(cluster);
  return {
    labels: allowed(metadata.labels),
    annotations: { ...allowed(users), ...(isAccepted && policies) },
  };
}

/**
 * The labels and annotations of an import: those of the export that decides, if their keys are allowed, and the policies
 * of this cluster's own export, or else of the oldest export of a peer whose policies are accepted.
 */
export function acceptedMetadata(
  merged: MergedService,
  records: readonly ExportRecord[],
  rules: MetadataRules,
): AcceptedMetadata {
  const { key, contributors, metadata } = merged;
  const object = `ServiceExport ${key}`;
  const problems = new Map<string, Problem[]>();
  const omit = (
    cluster: string | undefined,
    problem: Omit<Problem, "object" | "value">,
    value: unknown,
  ) => {
    if (cluster === undefined) return;
    const known = problems.get(cluster) ?? [];
    problems.set(cluster, [...known, { ...problem, object, value: shown(value) }]);
  };
  const [decider] = contributors;
  const allowed = (map: Readonly<Record<string, string>>, field: string) => {
    const accepted = Object.entries(map).filter(([name]) => {
      const isAllowed = matchesKey(rules.exportedKeys, name);
      if (!isAllowed) omit(decider, { reason: "key-not-allowed", field }, name);
      return isAllowed;
    });
    return Object.fromEntries(accepted);
  };
  const isAccepted = (cluster: string) =>
    cluster === rules.own || rules.policiesFrom.includes(cluster);
  const seniors = contributors.flatMap((id) => records.find(({ cluster }) => cluster === id) ?? []);
  for (const { cluster, metadata: theirs } of seniors) {
    if (isAccepted(cluster)) continue;
    for (const name of Object.keys(split(theirs.annotations).policies)) {
      omit(cluster, { reason: "policy-not-accepted", field: "spec.exportedAnnotations" }, name);
    }
  }
  const own = seniors.find(({ cluster }) => cluster === rules.own);
  const policies = own ?? seniors.find(({ cluster }) => isAccepted(cluster));
  return {
    metadata: {
      labels: allowed(metadata.labels, "spec.exportedLabels"),
      annotations: {
        ...allowed(metadata.annotations, "spec.exportedAnnotations"),
        ...split(policies?.metadata.annotations ?? {}).policies,
      },
    },
    problems,
  };
}
