import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planDocument, planText } from "./plan-document.ts";

const SERVE: ImportPlan = {
  importKey: "demo/serve",
  reason: "programmed",
  vips: [{ address: "241.0.0.7", reason: "programmed" }],
  services: [],
  excluded: [{ slice: "demo/serve-x", reason: "inactive", cluster: "c2" }],
};
const EMPTY: ImportPlan = {
  importKey: "demo/empty",
  reason: "no-vip",
  vips: [],
  services: [],
  excluded: [],
};

test("plans are one document in either language, whole and in order", () => {
  for (const plans of [[], [SERVE], [SERVE, EMPTY]]) {
    const json = [...planDocument(plans, "json")].join("");
    const yaml = [...planDocument(plans, "yaml")].join("");
    assert.deepEqual(JSON.parse(json), { imports: plans });
    assert.deepEqual(parse(yaml), { imports: plans });
    assert.ok(json.endsWith("\n") && yaml.endsWith("\n"));
  }
});

test("JSON has one import a line", () => {
  const lines = [...planDocument([SERVE, EMPTY], "json")].join("").split("\n");
  assert.deepEqual(JSON.parse(lines[1]?.replace(/,$/, "") ?? ""), SERVE);
});

test("a document is made as it is read, not before", () => {
  let made = 0;
  const plans = (function* (): Generator<ImportPlan> {
    for (;;) {
      made++;
      yield SERVE;
    }
  })();
  for (const output of ["json", "yaml"] as const) {
    made = 0;
    planDocument(plans, output)[Symbol.iterator]().next();
    assert.equal(made, 1);
  }
});

test("YAML says everything where it stands, though the plan shares parts of itself", () => {
  const shared = { ...SERVE, excluded: [...SERVE.excluded, ...SERVE.excluded] };
  assert.doesNotMatch(planText(shared, "yaml"), /[&*]a1/);
});

test("one plan is a document of its own", () => {
  assert.deepEqual(JSON.parse(planText(SERVE, "json")), SERVE);
  assert.deepEqual(parse(planText(SERVE, "yaml")), SERVE);
});
