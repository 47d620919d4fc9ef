import { stringify } from "yaml";
import type { CaseResult } from "./case-result.ts";
import { CASES } from "./cases.ts";

const KEP =
  "https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/1645-multi-cluster-services-api";

/** Who made what was tested. */
export interface Implementation {
  readonly organization: string;
  readonly project: string;
  readonly version: string;
  readonly url: string;
}

/** The report's fields are those of mcs-api v0.5.2 (conformance/report.go), which writes them in lower case. */
interface ReportedTest {
  readonly desc: string;
  readonly ref: string;
  readonly labels: readonly string[];
  readonly passed: boolean;
  readonly failed: boolean;
  readonly skipped: boolean;
  readonly conformant: boolean;
  readonly message: string;
}

/** A conformance report, with whether every required case passed. */
export interface Report {
  readonly text: string;
  readonly isConformant: boolean;
}

/**
 * The conformance report of these results, in the format of sig-multicluster-site: one test for each case. A case with several tests has
 * the worst of their results; one that was not run counts as failed. Throws if a result is of no known case. PURE.
 */
export function report(results: readonly CaseResult[], implementation: Implementation): Report {
  const unknown = results.find(({ id }) => !(id in CASES));
  if (unknown !== undefined)
    throw new Error(`${unknown.id} is not in scripts/conformance/cases.ts`);
  const cases = Object.keys(CASES).map((id) => caseOf(id, results));
  const groups = (["Required", "Optional"] as const).map((name) => ({
    name,
    tests: cases.filter(({ group }) => group === name).map(({ test }) => test),
  }));
  const passed = cases.filter(({ test }) => test.passed);
  const content = {
    groups,
    suitefailure: "",
    dnsdomain: "clusterset.local",
    passed: passed.length,
    total: cases.length,
    implementation,
  };
  const required = cases.filter(({ group }) => group === "Required");
  return {
    text: stringify(content, { lineWidth: 0, aliasDuplicateObjects: false }),
    isConformant: required.every(({ test }) => test.passed),
  };
}

/** The number of the last required case; those after it are optional. */
const LAST_REQUIRED = "C14";

/** From the worst to the best. */
const OUTCOMES = ["not-conformant", "failed", "skipped", "passed"] as const;

function caseOf(id: string, results: readonly CaseResult[]) {
  const own = results.filter((result) => result.id === id);
  const outcome = OUTCOMES.find((one) => own.some((result) => result.outcome === one)) ?? "failed";
  const decisive = own.find((result) => result.outcome === outcome);
  const { labels, section } = CASES[id] ?? { labels: [], section: "" };
  const test: ReportedTest = {
    desc: decisive === undefined ? id : `${id}: ${decisive.description}`,
    ref: `${KEP}#${section}`,
    labels: labels.toSorted(),
    passed: outcome === "passed",
    failed: outcome === "failed",
    skipped: outcome === "skipped",
    conformant: outcome !== "not-conformant",
    message: decisive?.message ?? "was not run",
  };
  return { group: id <= LAST_REQUIRED ? ("Required" as const) : ("Optional" as const), test };
}
