import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
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
  const all = Object.values(ALERTS).flatMap((group) => group.map(({ alert }) => alert));
  for (const fires of [true, false]) {
    const some = cases.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires);
    assert.deepEqual(some.map(({ alertname }) => alertname).toSorted(), all.toSorted());
  }
});

// Whether alerts fire by the metrics of controllers with a fault, such as API servers that reject writes: each sample of a series is what /metrics
// returned at that minute.

const MINUTE_MS = 60_000;
const MINUTES = 20;

/** An API server rejects all objects of a kind. */
const rejecting =
  (rejected: string) =>
  ({ server }: MemoryCluster): void => {
    server.admit = ({ kind }) => {
      if (kind === rejected) throw new Refusal(403, "x is forbidden: exceeded quota: most");
    };
  };

/** An API server rejects an object of this name. */
const denying = (name: string) => (c1: MemoryCluster) => c1.server.denied.set(name, "denied");

/** Lets writes that match end after seven seconds, as the API server does where a webhook does not answer. */
function hang({ server }: MemoryCluster, { clock }: ControllerWorld, path: RegExp): void {
  const request = server.request.bind(server);
  server.request = async (asked) => {
    if (asked.write === undefined || !path.test(asked.path)) return request(asked);
    await new Promise<void>((resolve) => clock.after(7_000, resolve));
    const body = Readable.from([Buffer.from(JSON.stringify({ reason: "Timeout" }))]);
    return { status: 504, header: () => undefined, body };
  };
}

const STALE = "ClustersetClusterStale";
const STUCK = "ClustersetControllerStuck";
const WITHOUT_VIP = "ClustersetImportWithoutVip";

/** A fault of c1, which exports shop/web and imports it, and the alerts of those below that fire. */
interface Fault {
  readonly begin?: (c1: MemoryCluster, world: ControllerWorld) => void;
  /** Causes what is to be rejected each minute. */
  readonly each?: (c1: MemoryCluster, minute: number) => void;
  readonly alerts: readonly string[];
}

const FAULTS: Readonly<Record<string, Fault>> = {
  nothing: { alerts: [] },
  "slices of the import and of the export": { begin: rejecting("endpointslices"), alerts: [STUCK] },
  "the record of an export, and an import": { begin: rejecting("serviceimports"), alerts: [STUCK] },
  "an IPAddress": { begin: rejecting("ipaddresses"), alerts: [STUCK] },
  "the status of a ServiceExport": { begin: denying("shop/web"), alerts: [STUCK] },
  "the Lease of the registry": {
    begin: denying("clusterset-registry-c1/cluster"),
    alerts: [STALE, STUCK],
  },
  "a ClusterProperty": { begin: denying("c2.endpoint-cidrs.clusterset-proxy.io"), alerts: [STUCK] },
  "a webhook for slices that hangs": {
    begin: (c1, world) => hang(c1, world, /endpointslices/),
    alerts: [STUCK],
  },
  "a range that one namespace has used": {
    begin: (c1) => {
      c1.ranges = "241.0.0.0/29";
      for (let i = 0; i < 8; i++) c1.offer(`shop/more-${i}`, ["10.1.0.8"]);
    },
    alerts: [WITHOUT_VIP],
  },
  "a cluster that does not answer": {
    begin: (_, { clusters }) => clusters[1]?.server.fail(),
    alerts: [STALE, "ClustersetRegistryUnwatched"],
  },
  Events: {
    begin: rejecting("events"),
    // An invalid export has an Event.
    each: (c1, minute) => c1.export(`shop/without-service-${minute}`),
    alerts: ["ClustersetEventsLost"],
  },
};
/** The alerts that one of these fires. */
const FIRED = [...new Set(Object.values(FAULTS).flatMap(({ alerts }) => alerts))].toSorted();

/** Values of all metrics, by series. */
async function scrape({ controller, metrics }: MemoryCluster): Promise<Map<string, string>> {
  assert.ok(controller);
  const all = pages(controller, metrics, { report: () => undefined }, new AnswerTimes());
  const page = all.find(({ path }) => path === "/metrics");
  const answer = await page?.answer({ parts: [], query: new URLSearchParams() });
  assert.ok(typeof answer?.body === "string");
  const samples = answer.body.matchAll(/^(clusterset_controller_\w+)(?:\{(.*)\})? (\S+)$/gm);
  return new Map(
    samples.map(([, name, labels = "", value = ""]) => [
      `${name}{cluster="c1",job="clusterset-controller",${labels}}`,
      value,
    ]),
  );
}

/** The series of a run, as promtool reads them. */
async function run({ begin, each }: Fault): Promise<object[]> {
  const { world, c1 } = ControllerWorld.of(["c1", "c2"]);
  begin?.(c1, world);
  c1.offer("shop/web", ["10.1.0.7"]);
  world.start();
  const scrapes: Map<string, string>[] = [];
  for (let minute = 0; minute <= MINUTES; minute++) {
    scrapes.push(await scrape(c1));
    each?.(c1, minute);
    await world.pass(MINUTE_MS);
  }
  await world.stop();
  const names = new Set(scrapes.flatMap((one) => [...one.keys()]));
  return [...names].map((series) => ({
    series,
    values: scrapes.map((one) => one.get(series) ?? "_").join(" "),
  }));
}

test("a fault of a controller fires its alerts, by the metrics of a run, and no fault fires none", async () => {
  const expr = `count by (alertname) (ALERTS{alertname=~"${FIRED.join("|")}",alertstate="firing"})`;
  const tests: object[] = [];
  for (const [name, fault] of Object.entries(FAULTS)) {
    const exp_samples = fault.alerts.map((alert) => {
      return { labels: `{alertname="${alert}"}`, value: 1 };
    });
    const promql_expr_test = [{ expr, eval_time: `${MINUTES}m`, exp_samples }];
    tests.push({ name, interval: "1m", input_series: await run(fault), promql_expr_test });
  }
  using directory = mkdtempDisposableSync(join(tmpdir(), "alerts-"));
  const cases = join(directory.path, "cases.json");
  writeFileSync(cases, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  assert.match(promtool("test", "rules", cases), /SUCCESS/);
});
