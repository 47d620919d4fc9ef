import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { ALERTS } from "../../scripts/monitoring/rules.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { output } from "../packages/rendered.ts";

const ROOT = join(import.meta.dirname, "../..");
const CASES = join(import.meta.dirname, "alerts.yaml");

const promtool = (...args: string[]): string => output(kubernetesCommand("promtool"), args);

test("promtool finds no fault in the rules", () => {
  const lint = ["--lint=all", "--lint-fatal"];
  const said = promtool("check", "rules", ...lint, join(ROOT, "deploy/monitoring/rules.yaml"));
  const rules = Object.values(ALERTS).flat().length;
  assert.match(said, new RegExp(`SUCCESS: ${rules} rules found`));
});

test("each alert is silent once and fires once, with exactly these labels and annotations", () => {
  assert.match(promtool("test", "rules", CASES), /SUCCESS/);
});

test("the cases have every alert, silent and firing", () => {
  const { tests } = parse(readFileSync(CASES, "utf8")) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const named = (fires: boolean) =>
    cases
      .filter(({ exp_alerts }) => exp_alerts.length > 0 === fires)
      .map(({ alertname }) => alertname)
      .toSorted();
  const all = Object.values(ALERTS)
    .flat()
    .map(({ alert }) => alert)
    .toSorted();
  assert.deepEqual(named(true), all);
  assert.deepEqual(named(false), all);
});
