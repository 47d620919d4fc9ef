import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { type CaseResult, caseResult } from "../../scripts/conformance/case-result.ts";
import { report } from "../../scripts/conformance/report.ts";

// The writer of conformance reports, with a recorded run on two real clusters.

const RUN = join(import.meta.dirname, "conformance-run.jsonl");
const IMPLEMENTATION = { organization: "o", project: "p", version: "v1", url: "" };

function recorded(): CaseResult[] {
  const lines = readFileSync(RUN, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

test("the report of a run has each case once, in its group, and says that all passed", () => {
  const { text, isConformant } = report(recorded(), IMPLEMENTATION);
  const { groups, ...rest } = parse(text);
  assert.equal(isConformant, true);
  assert.deepEqual(rest, {
    ...{ suitefailure: "", dnsdomain: "clusterset.local", passed: 27, total: 27 },
    implementation: IMPLEMENTATION,
  });
  const named = groups.map(
    (one: { name: string; tests: object[] }) => `${one.name} ${one.tests.length}`,
  );
  assert.deepEqual(named, ["Required 14", "Optional 13"]);
  assert.deepEqual(groups[1].tests[3], {
    desc: "C18: clients in every cluster can connect to an exported Service by its name, with TCP and UDP",
    ref: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/1645-multi-cluster-services-api#exporting-services",
    labels: ["ClusterIP", "Connectivity"],
    ...{ passed: true, failed: false, skipped: false, conformant: true, message: "" },
  });
});

function withOutcome(id: string, outcome: CaseResult["outcome"], message: string): CaseResult[] {
  const results = recorded();
  const first = results.findIndex((result) => result.id === id);
  return results.map((result, i) => (i === first ? { ...result, outcome, message } : result));
}

for (const [outcome, fields] of [
  ["not-conformant", { passed: false, failed: false, skipped: false, conformant: false }],
  ["failed", { passed: false, failed: true, skipped: false, conformant: true }],
  ["skipped", { passed: false, failed: false, skipped: true, conformant: true }],
] as const) {
  test(`a case of which one test is ${outcome} is that, whatever its others are; a required one decides`, () => {
    // C14 has two tests.
    const { text, isConformant } = report(withOutcome("C14", outcome, "why"), IMPLEMENTATION);
    const { groups, passed } = parse(text);
    const found = groups[0].tests[13];
    assert.deepEqual(found, { ...found, ...fields, message: "why" });
    assert.equal(passed, 26);
    assert.equal(isConformant, false);
    // An optional one does not.
    assert.equal(report(withOutcome("C18", outcome, "why"), IMPLEMENTATION).isConformant, true);
  });
}

test("a case that was not run counts as failed", () => {
  const others = recorded().filter(({ id }) => id !== "C03");
  const { text, isConformant } = report(others, IMPLEMENTATION);
  const { failed, message } = parse(text).groups[0].tests[2];
  assert.deepEqual([failed, message, isConformant], [true, "was not run", false]);
});

test("an assertion that fails is not conformant; another error leaves it unknown; other tests are no cases", () => {
  const failed = (error: unknown) =>
    caseResult("C18 (optional): a", { hasPassed: false, skipped: false, error });
  const assertion = new assert.AssertionError({ message: "expected\nmore" });
  assert.deepEqual(failed(assertion), {
    ...{ id: "C18", group: "Optional", description: "a" },
    ...{ outcome: "not-conformant", message: "expected" },
  });
  assert.equal(failed(new Error("no cluster"))?.outcome, "failed");
  const passed = { hasPassed: true, skipped: false, error: undefined };
  assert.equal(caseResult("C14 (required), with connections: b", passed)?.description, "b");
  assert.equal(caseResult("agents log the reason", passed), undefined);
});
