import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { AnswerTimes } from "../../controller/observe/answer-times.ts";
import { pages } from "../../controller/observe/pages.ts";
import { ALERTS } from "../../scripts/monitoring/rules.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { Refusal } from "../doubles/memory/object-table.ts";
import { output } from "../packages/rendered.ts";
import { ControllerWorld, type MemoryCluster } from "../stages/controller-world.ts";

const RULES = join(import.meta.dirname, "../../deploy/monitoring/rules.yaml");
const CASES = join(import.meta.dirname, "alerts.yaml");

const promtool = (...args: string[]): string => output(kubernetesCommand("promtool"), args);

test("promtool finds no fault in the rules", () => {
  const lint = ["--lint=all", "--lint-fatal"];
  const said = promtool("check", "rules", ...lint, RULES);
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

// Whether the alert fires when writes are rejected, by the metrics of controllers whose API servers reject them: each sample of a series is
// what /metrics returned at that minute.

const MINUTE_MS = 60_000;
const MINUTES = 15;

/** Sets what an API server rejects, of the objects of kinds. */
function reject({ server }: MemoryCluster, ...kinds: readonly string[]): void {
  server.admit = ({ kind }) => {
    if (kinds.includes(kind)) throw new Refusal(403, "x is forbidden: exceeded quota: most");
  };
}

/** What is rejected in c1, which exports shop/web and imports it. */
const FAULTS: Readonly<Record<string, (c1: MemoryCluster) => void>> = {
  nothing: () => {},
  "slices of the import and of the export": (c1) => reject(c1, "endpointslices"),
  "the record of an export, and an import": (c1) => reject(c1, "serviceimports"),
  "an IPAddress": (c1) => reject(c1, "ipaddresses"),
  "the status of a ServiceExport": ({ server }) => server.denied.set("shop/web", "denied"),
  "the Lease of the registry": ({ server }) =>
    server.denied.set("clusterset-registry-c1/cluster", "denied"),
  "a ClusterProperty": ({ server }) =>
    server.denied.set("c2.endpoint-cidrs.clusterset-proxy.io", "denied"),
};

/** Values of all metrics, by series. */
async function scrape({ controller, metrics }: MemoryCluster): Promise<Map<string, string>> {
  assert.ok(controller);
  const all = pages(controller, metrics, { report: () => undefined }, new AnswerTimes());
  const page = all.find(({ path }) => path === "/metrics");
  const answer = await page?.answer({ parts: [], query: new URLSearchParams() });
  assert.ok(typeof answer?.body === "string");
  const samples = answer.body
    .split("\n")
    .filter((line) => line.startsWith("clusterset_controller_"));
  return new Map(
    samples.map((line): [string, string] => {
      const [series = "", value = ""] = line.split(/ (?=[^ ]+$)/);
      const [name = "", labels = "}"] = series.split("{");
      return [`${name}{cluster="c1",job="clusterset-controller",${labels}`, value];
    }),
  );
}

/** The series of a run, as promtool reads them. */
async function run(fault: (c1: MemoryCluster) => void): Promise<object[]> {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1] = world.clusters;
  c1.namespace("shop");
  fault(c1);
  c1.offer("shop/web", ["10.1.0.7"]);
  world.start();
  const scrapes: Map<string, string>[] = [];
  for (let minute = 0; minute <= MINUTES; minute++) {
    scrapes.push(await scrape(c1));
    await world.pass(MINUTE_MS);
  }
  await world.stop();
  const names = new Set(scrapes.flatMap((one) => [...one.keys()]));
  return [...names].map((series) => ({
    series,
    values: scrapes.map((one) => one.get(series) ?? "_").join(" "),
  }));
}

test("ClustersetControllerStuck fires for whatever is rejected for minutes, and not if nothing is", async () => {
  const tests: object[] = [];
  for (const [name, fault] of Object.entries(FAULTS)) {
    const labels =
      'ALERTS{alertname="ClustersetControllerStuck",alertstate="firing",cluster="c1",severity="warning"}';
    tests.push({
      name,
      interval: "1m",
      input_series: await run(fault),
      promql_expr_test: [
        {
          expr: 'ALERTS{alertname="ClustersetControllerStuck",alertstate="firing"}',
          eval_time: `${MINUTES}m`,
          exp_samples: name === "nothing" ? [] : [{ labels, value: 1 }],
        },
      ],
    });
  }
  const directory = mkdtempSync(join(tmpdir(), "stuck-"));
  try {
    const cases = join(directory, "cases.json");
    writeFileSync(cases, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
    assert.match(promtool("test", "rules", cases), /SUCCESS/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
