import { counted } from "../../api/count.ts";
import type { Severity } from "../exit-code.ts";
import type { Printable, Style } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";
import { CLUSTER_CHECKS, type ClusterCheck } from "./cluster-checks.ts";
import { type CheckedCluster, type CheckedSet, type Outcome, ok } from "./finding.ts";
import { PAIR_CHECKS, type PairCheck } from "./pair-checks.ts";

/** The name of a check. */
export type CheckName = keyof typeof CLUSTER_CHECKS | keyof typeof PAIR_CHECKS | "api-server";

/** The result of a check of one cluster, or of two. Field names are those of `-o json`. */
export interface Finding {
  /** One, or two. */
  readonly contexts: readonly string[];
  readonly check: CheckName;
  readonly question: string;
  readonly result: Outcome["state"];
  /** `fault`: a join stops. */
  readonly severity: Severity;
  /** Sentences. */
  readonly found?: string;
  readonly advice?: string;
}

/** Runs all checks. PURE. */
export function findingsOf(set: CheckedSet): Finding[] {
  const { clusters } = set;
  return [
    ...clusters.flatMap((cluster) => findingsIn(cluster, set)),
    ...clusters.flatMap((one, i) =>
      clusters.slice(i + 1).flatMap((other) => findingsBetween(one, other, set)),
    ),
  ];
}

function findingsIn(cluster: CheckedCluster, set: CheckedSet): Finding[] {
  const contexts = [cluster.context];
  return entriesOf<keyof typeof CLUSTER_CHECKS, ClusterCheck>(CLUSTER_CHECKS).flatMap(
    ([check, { question, advice, evaluate }]) => {
      const advised = advice.replaceAll("CONTEXT", () => cluster.context);
      return shownOf(evaluate(cluster, set)).map((one) =>
        findingOf({ contexts, check, question }, one, advised),
      );
    },
  );
}

function findingsBetween(one: CheckedCluster, other: CheckedCluster, set: CheckedSet): Finding[] {
  const contexts = [one.context, other.context];
  return entriesOf<keyof typeof PAIR_CHECKS, PairCheck>(PAIR_CHECKS).flatMap(
    ([check, { question, advice, evaluate }]) => {
      return shownOf(evaluate(one, other, set)).map((outcome) =>
        findingOf({ contexts, check, question }, outcome, advice),
      );
    },
  );
}

/** A check without a problem passed. A check that does not concern a cluster is not shown. */
function shownOf(outcomes: readonly Outcome[] | undefined): readonly Outcome[] {
  return outcomes?.length === 0 ? [ok()] : (outcomes ?? []);
}

function entriesOf<Name extends string, Row>(rows: Readonly<Record<Name, Row>>): [Name, Row][] {
  return Object.entries(rows) as [Name, Row][];
}

function findingOf(
  key: Pick<Finding, "contexts" | "check" | "question">,
  outcome: Outcome,
  preset: string,
): Finding {
  const { state: result, found } = outcome;
  const severity =
    outcome.state === "failing" ? outcome.severity : result === "ok" ? "well" : "warning";
  const advice = outcome.state === "ok" ? "" : (outcome.advice ?? preset);
  return {
    ...{ ...key, result, severity },
    ...(found !== undefined && { found }),
    ...(advice !== "" && { advice }),
  };
}

/** The finding for a cluster of which nothing could be read. PURE. */
export function unreadCluster(context: string, why: string): Finding {
  const [check, question] = ["api-server", "Does its API server answer?"] as const;
  return findingOf({ contexts: [context], check, question }, { state: "unknown", found: why }, "");
}

/** What a finding says, for a message: the context of one cluster first. PURE. */
export function findingText({ contexts, found = "", advice }: Finding): string {
  const [first = "", ...others] = contexts;
  // Of two clusters, the sentence names both.
  const of = others.length > 0 ? "" : `${first}: `;
  return `${of}${found}${advice === undefined ? "" : ` ${advice}`}`;
}

const STYLES: Readonly<Record<Severity, Style>> = {
  well: "good",
  warning: "warning",
  fault: "fault",
};

/** A table of single clusters, and one of pairs, in which pairs with the same result share a row. PURE. */
export function findingTables(findings: readonly Finding[], screen: Screen): Printable[] {
  const ofOne = findings.filter(({ contexts }) => contexts.length === 1);
  const ofTwo = findings.filter(({ contexts }) => contexts.length > 1);
  const rows = ofOne.map((one) => rowOf(one.contexts.join(), one));
  const alike = Map.groupBy(ofTwo, ({ check, result, found, contexts }) =>
    result === "ok" ? check : [check, ...contexts, found].join("\n"),
  );
  const pairs = [...alike.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const name = same.length > 1 ? counted(same.length, "pair") : first.contexts.join(", ");
    return [rowOf(name, first)];
  });
  const heading = ["CHECK", "RESULT", "FOUND, AND WHAT TO DO"];
  return [
    table(["CONTEXT", ...heading], rows, screen),
    ...(pairs.length > 0 ? [table(["CONTEXTS", ...heading], pairs, screen)] : []),
  ];
}

function rowOf(
  name: string,
  { check, result, severity, found, advice }: Finding,
): (Cell | string)[] {
  const text = [found, advice].filter((part) => part !== undefined).join(" ");
  return [name, check, { text: result, style: STYLES[severity] }, text];
}
