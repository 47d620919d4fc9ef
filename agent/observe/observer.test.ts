import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { remarkLine } from "../../common/checks.ts";
import { CodedError } from "../../common/errors.ts";
import { createLogger, type LogLevel } from "../../common/log.ts";
import { nodeFact } from "../../test/generators/facts.ts";
import type { Verdict } from "../health/verdict.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { Connections } from "./connections.ts";
import { ConntrackObserver } from "./conntrack-observer.ts";
import { HealthObserver } from "./health-observer.ts";
import { AgentMetrics } from "./metrics.ts";
import { Observer } from "./observer.ts";
import { TrafficObserver } from "./traffic-observer.ts";

/** The metrics, a log, and its lines since the last call: `level message`, and the values of these fields. */
function logged(level: LogLevel, ...fields: readonly string[]) {
  const written: string[] = [];
  const log = createLogger({ level, format: "json" }, { write: (line) => written.push(line) });
  const lines = (): string[] =>
    written.splice(0).map((line) => {
      const values = JSON.parse(line);
      return ["level", "msg", ...fields].flatMap((field) => values[field] ?? []).join(" ");
    });
  return { log, lines, metrics: new AgentMetrics() };
}

/** Labels and values of a metric. */
async function samplesOf(metrics: AgentMetrics, name: string): Promise<string[]> {
  const prefix = `clusterset_agent_${name}`;
  const found = (await metrics.text()).split("\n").filter((line) => line.startsWith(prefix));
  return found.map((line) => line.slice(prefix.length));
}

function observed(level: LogLevel = "debug") {
  const { log, lines, metrics } = logged(level);
  return { lines, metrics, observer: new Observer(log, metrics, { now: () => 5000 }) };
}

const PLAN: ImportPlan = {
  ...{ importKey: "demo/serve", reason: "no-vip" },
  ...{ vips: [], services: [], excluded: [] },
};
const PASS = { family: "IPv4", scope: "changed", seconds: 0.01, writes: 1, deletes: 0 } as const;

test("objects of the initial lists are logged for debugging, changes after the first sync as info", () => {
  const { observer, lines } = observed("info");
  observer.listed();
  observer.planned("demo/serve", PLAN);
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [] });
  assert.deepEqual(lines(), [
    "info Caches synced; programming rules",
    "info Programmed rules; in sync",
  ]);
  observer.planned("demo/serve", { ...PLAN, reason: "headless" });
  observer.reconciled({ ...PASS, changedAt: [4000] });
  observer.planned("demo/serve", undefined);
  assert.deepEqual(lines(), ["info Import changed state", "info Import was removed"]);
});

test("a failure that repeats is logged once, another one again, and the recovery once", () => {
  const { observer, lines } = observed("info");
  const failed = (error: Error, family: "IPv4" | "IPv6" = "IPv4"): void =>
    observer.failed({ family, error, failures: 1, retryIn: 100 });
  observer.reconciled({ ...PASS, changedAt: [] });
  lines();
  failed(new CodedError("CSP_RESTORE_EXITED", "first"));
  failed(new CodedError("CSP_RESTORE_EXITED", "second"));
  failed(new CodedError("CSP_RESTORE_TIMEOUT", "third"));
  failed(new CodedError("CSP_RESTORE_TIMEOUT", "other family"), "IPv6");
  observer.reconciled({ ...PASS, changedAt: [] });
  observer.reconciled({ ...PASS, changedAt: [] });
  const warning = "warn Sync failed; keeping existing rules";
  assert.deepEqual(lines(), [warning, warning, warning, "info Rules are in sync again"]);
});

test("drift checks that fail are logged once in each outage, and so is its end", () => {
  const { observer, lines } = observed("info");
  const failure = { family: "IPv4", error: new Error("no iptables"), retryIn: 100 } as const;
  for (const isWell of [false, false, true, true, false, false, true]) {
    if (isWell) observer.checked("IPv4");
    else observer.checkFailed(failure);
  }
  const outage = ["warn Drift check failed", "info Drift checks succeed again"];
  assert.deepEqual(lines(), [...outage, ...outage]);
});

test("a retention is logged when it begins and when it ends, and counted in between", async () => {
  const { observer, metrics, lines } = observed("info");
  const retained = { family: "IPv4", services: 12, of: 13, forMs: 30_000 } as const;
  const gauge = (services: number) =>
    new RegExp(`^clusterset_agent_doubted_services\\{family="IPv4"\\} ${services}$`, "m");
  observer.retained(retained);
  assert.match(await metrics.text(), gauge(12));
  observer.released({ family: "IPv4", services: 11 });
  assert.match(await metrics.text(), gauge(0));
  observer.retained(retained);
  observer.released({ family: "IPv4", services: 0 });
  assert.deepEqual(lines(), [
    "warn Initial list is missing most programmed services; keeping their rules",
    "warn Deleting the rules of services that are not listed",
    "warn Initial list is missing most programmed services; keeping their rules",
    "info Retained services are listed again",
  ]);
  observer.retained({ family: "IPv4", services: 12, of: 12 });
  assert.deepEqual(lines(), [
    "warn Flags do not allow the VIPs of most programmed services; keeping their rules",
  ]);
});

test("a pass that changed nothing is not logged at any level", () => {
  const { observer, lines } = observed("trace");
  observer.reconciled({ ...PASS, changedAt: [] });
  lines();
  observer.reconciled({ ...PASS, writes: 0, changedAt: [] });
  assert.deepEqual(lines(), []);
});

test("problems are logged and counted by object; a second object clears none of the first", async () => {
  const { observer, metrics, lines } = observed("info");
  const problem = { reason: "invalid-port", field: "ports[0].port", value: "0" } as const;
  observer.problems("A", [{ ...problem, object: "A" }]);
  observer.problems("B", []);
  observer.problems("A", [{ ...problem, object: "A" }]);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 1$/m);
  observer.problems("A", []);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 0$/m);
  assert.deepEqual(lines(), [
    "warn Rejected part of an object",
    "info Part of an object is no longer rejected",
  ]);
});

test("an object that keeps changing does not fill the log, and other objects are still logged", () => {
  const { observer, lines } = observed("info");
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [] });
  observer.planned("demo/serve", PLAN);
  lines();
  for (let i = 0; i < 10_000; i++) {
    observer.planned("demo/serve", { ...PLAN, reason: i % 2 === 0 ? "headless" : "no-vip" });
  }
  observer.planned("demo/other", PLAN);
  const told = lines();
  assert.equal(told.length, 101);
  assert.deepEqual(told.slice(-2), [
    "warn Too many log lines about an object; leaving some out",
    "info Import was added",
  ]);
});

function connections() {
  const { log, lines, metrics } = logged("info", "resource", "reason", "was");
  return { lines, metrics, connections: new Connections(log, metrics) };
}

/** The lines of `/readyz?verbose` that an observer adds. */
function linesOf(observer: Pick<HealthObserver, "remarks">): string[] {
  return observer.remarks().map(remarkLine);
}

describe("connections", () => {
  test("are not logged while the watch works", () => {
    const { lines, connections: all } = connections();
    for (const reason of ["listing", "watching", "expired", "listing", "watching"] as const)
      all.observe("nodes", { reason });
    all.observe("clusterproperties", { reason: "not-served" });
    all.observe("serviceimports", { reason: "listing", detail: "no response yet" });
    assert.deepEqual(lines(), []);
    assert.deepEqual(linesOf(all), [
      "[+]source-nodes ok",
      "[?]source-clusterproperties not-served",
      '[?]source-serviceimports listing: "no response yet"',
    ]);
  });

  test("log an outage once despite attempts in between, and its end", () => {
    const { lines, connections: all } = connections();
    all.observe("nodes", { reason: "watching" });
    for (let i = 0; i < 3; i++) {
      all.observe("nodes", { reason: "unreachable", detail: "connect ECONNREFUSED" });
      all.observe("nodes", { reason: "listing" });
    }
    all.observe("nodes", { reason: "unauthorized" });
    all.observe("nodes", { reason: "listing" });
    all.observe("nodes", { reason: "watching" });
    assert.deepEqual(lines(), [
      "warn Watch failed; using last known state nodes unreachable",
      "warn Watch failed; using last known state nodes unauthorized",
      "info Watch restored nodes watching unauthorized",
    ]);
  });

  test("report a required resource that is not served; the server's message is shown as one printable line", () => {
    const { lines, connections: all } = connections();
    all.observe("serviceimports", { reason: "not-served", detail: "a\nb\u202e" });
    assert.equal(lines().length, 1);
    assert.deepEqual(linesOf(all), ['[-]source-serviceimports not-served: "a\\nb\\u202e"']);
  });

  test("are counted by state, and have a gauge", async () => {
    const { metrics, connections: all } = connections();
    all.observe("nodes", { reason: "watching" });
    all.observe("nodes", { reason: "stalled" });
    const text = await metrics.text();
    assert.match(text, /^clusterset_agent_source_watching\{resource="nodes"\} 0$/m);
    assert.match(text, /source_states_total\{resource="nodes",reason="stalled"\} 1$/m);
  });
});

function conntrack() {
  const { log, lines, metrics } = logged("debug", "by");
  return { lines, metrics, observer: new ConntrackObserver(log, metrics) };
}

const SWEPT = { family: "IPv4", by: "netlink", seconds: 0.01, deleted: [] } as const;
const NO_NATIVE = new CodedError("CSP_NETLINK_UNAVAILABLE", "no native part");
const NO_PROGRAM = new CodedError("CSP_EXEC_MISSING", "no conntrack");

test("a failing access method is logged once, and so is that all fail, and that one works again", () => {
  const { observer, lines } = conntrack();
  const netlinkFails = () =>
    observer.cleanupFailed({ family: "IPv4", by: "netlink", error: NO_NATIVE, last: false });
  const toolFails = () =>
    observer.cleanupFailed({ family: "IPv4", by: "conntrack", error: NO_PROGRAM, last: true });
  netlinkFails();
  observer.cleanedUp({ ...SWEPT, by: "conntrack" });
  const warnings = () => lines().filter((line) => !line.startsWith("debug"));
  assert.deepEqual(warnings(), [
    "warn Conntrack cleanup failed; trying another access method netlink",
  ]);
  netlinkFails();
  toolFails();
  netlinkFails();
  toolFails();
  assert.deepEqual(warnings(), [
    "warn Conntrack cleanup failed; rules are still programmed conntrack",
  ]);
  observer.cleanedUp(SWEPT);
  observer.cleanedUp(SWEPT);
  assert.deepEqual(warnings(), ["info Conntrack cleanup recovered netlink"]);
});

test("deletions are counted by protocol and reason, failures by access method and code", async () => {
  const { observer, metrics, lines } = conntrack();
  const left = { protocol: "UDP", reason: "endpoint-left" } as const;
  const none = { protocol: "TCP", reason: "endpoint-gone", entries: 0 } as const;
  observer.cleanedUp({ ...SWEPT, deleted: [{ ...left, entries: 3 }] });
  observer.cleanedUp({ ...SWEPT, deleted: [{ ...left, entries: 2 }, none] });
  assert.equal(lines().length, 2, "0 deleted entries are not logged");
  observer.cleanupFailed({ family: "IPv6", by: "netlink", error: NO_NATIVE, last: false });
  const text = (await metrics.text()).split("\n");
  for (const line of [
    'conntrack_deleted_entries_total{family="IPv4",protocol="UDP",reason="endpoint-left"} 5',
    'conntrack_sweep_duration_seconds_count{family="IPv4"} 2',
    'conntrack_failures_total{family="IPv6",by="netlink",code="CSP_NETLINK_UNAVAILABLE"} 1',
  ]) {
    assert.ok(text.includes(`clusterset_agent_${line}`), line);
  }
});

function silence() {
  const { log, lines, metrics } = logged("info", "cluster", "endpoint", "why");
  const health = new HealthObserver(log, metrics);
  return { lines, metrics, health, remarks: () => linesOf(health) };
}

function verdict(scope: Verdict["scope"], i = 1): Verdict {
  const [address, name] = [`10.2.0.${i}`, `10.2.0.${i}:80`];
  return {
    ...{ scope, cluster: "c2", namespace: "", except: "", since: i, probes: 0, probeAt: 0 },
    ...{ members: [], hasClosed: false, isPartial: false, isTrial: false, answering: new Set() },
    name: scope === "cluster" ? "cluster c2" : `endpoint ${name}`,
    ...{ shown: new Set([name]), endpoints: new Map([[name, { address, port: 80 }]]) },
    terms: { recurrences: 0, hold: 0, expires: 300_000 },
  };
}

test("a verdict and its end are logged, counted and shown", async () => {
  const { lines, metrics, health, remarks } = silence();
  assert.deepEqual(remarks(), ["[+]health ok"]);
  const one = verdict("endpoint");
  health.silent(one);
  assert.deepEqual(remarks(), ['[-]health unanswering: "endpoint 10.2.0.1:80" of "c2"']);
  assert.match(await metrics.text(), /health_unanswering\{scope="endpoint"\} 1/);
  health.ended(one, "answered", 5_000);
  assert.deepEqual(remarks(), ["[+]health ok"]);
  assert.match(await metrics.text(), /health_unanswering\{scope="endpoint"\} 0/);
  assert.match(await metrics.text(), /health_verdicts_total\{scope="endpoint"\} 1/);
  assert.deepEqual(lines(), [
    "warn Endpoint does not answer; using it last c2 10.2.0.1:80",
    "info Endpoint is used as before c2 10.2.0.1:80 answered",
  ]);
});

test("a cluster is always logged and shown first; of thousands of endpoints, twenty are, and ten of a namespace", () => {
  const { lines, health, remarks } = silence();
  const silent = (i: number, namespace: string) =>
    health.silent({ ...verdict("endpoint", i), namespace });
  for (let i = 1; i <= 2_000; i++) silent(i, "evil");
  assert.equal(lines().length, 10);
  for (let i = 2_001; i <= 2_020; i++) silent(i, i === 2_020 ? "bank" : "shop");
  health.silent({ ...verdict("cluster"), terms: { recurrences: 2, hold: 20_000, expires: 1 } });
  assert.match(remarks()[0] ?? "", /of "c2", time 3 in a row: for 20 s at least$/);
  const said = lines();
  assert.equal(said.length, 11);
  assert.equal(said.at(-1), "warn No endpoint of a cluster answers; using the cluster last c2");
  const shown = remarks().map((line) => line.split('"')[1]?.replace("endpoint 10.2.0.", ""));
  assert.equal(shown.length, 20);
  assert.deepEqual(shown.slice(0, 5), ["cluster c2", "1:80", "2001:80", "2020:80", "2:80"]);
});

test("a namespace with too many silent endpoints is logged once in each outage", () => {
  const { lines, health } = silence();
  for (const one of [verdict("endpoint"), verdict("endpoint")]) {
    health.silent(one);
    for (let i = 0; i < 3; i++) health.limited(one.namespace, 64);
    assert.equal(lines().filter((line) => line.includes("Many endpoints")).length, 1);
    health.ended(one, "answered", 5_000);
  }
});

test("a silent uplink is shown until it ends", async () => {
  const { lines, metrics, health, remarks } = silence();
  health.uplink(true);
  assert.match(remarks()[0] ?? "", /^\[-\]health uplink/);
  assert.match(await metrics.text(), /health_uplink_silent 1/);
  health.uplink(false);
  assert.deepEqual(remarks(), ["[+]health ok"]);
  assert.equal(lines().length, 2);
});

test("clusters that probes do not reach are shown, counted and logged, each until probes reach it again", async () => {
  const { lines, metrics, health, remarks } = silence();
  const blind = () => samplesOf(metrics, "health_blind");
  health.blind(new Set(["c3"]));
  health.blind(new Set(["c2", "c3"]));
  assert.deepEqual(await blind(), ['{member="c3"} 1', '{member="c2"} 1']);
  assert.deepEqual(
    remarks().map((line) => line.split(";")[0]),
    ["c3", "c2"].map((id) => `[-]health blind: probes of this node do not reach "${id}"`),
  );
  health.blind(new Set(["c2"]));
  assert.deepEqual(await blind(), ['{member="c2"} 1']);
  health.blind(new Set());
  assert.deepEqual(await blind(), []);
  assert.deepEqual(remarks(), ["[+]health ok"]);
  const warning =
    "warn Probes do not reach a cluster; detecting its silent endpoints by clients alone";
  const again = "info Probes reach a cluster again";
  assert.deepEqual(lines(), [`${warning} c3`, `${warning} c2`, `${again} c3`, `${again} c2`]);
});

test("missing evidence is logged once for each cause, and counted each time", async () => {
  const { lines, metrics, health, remarks } = silence();
  const error = new CodedError("CSP_NETLINK_UNAVAILABLE", "netlink: no");
  for (let i = 0; i < 3; i++) health.unavailable(error);
  assert.match(remarks()[0] ?? "", /not-tested: .*CSP_NETLINK_UNAVAILABLE/);
  health.unavailable(undefined);
  assert.deepEqual(lines(), [
    "warn Silent endpoints are not detected",
    "info Silent endpoints are detected again",
  ]);
  assert.match(await metrics.text(), /health_failures_total\{code="CSP_NETLINK_UNAVAILABLE"\} 3/);
});

function counting() {
  const { log, lines, metrics } = logged("info");
  const samples = () => samplesOf(metrics, "connections_total");
  return { lines, samples, traffic: new TrafficObserver(log, metrics) };
}

test("counts are those of the kernel, also if it has begun anew; a cluster of the name unknown has its own", async () => {
  const { samples, traffic } = counting();
  const node = nodeFact({ cluster: "c1", region: "eu-west" });
  const count = (member: string | undefined, connections: number) =>
    ({ family: "IPv4", member, connections }) as const;
  traffic.counted([count("c1", 7), count("unknown", 2), count(undefined, 5)], node, []);
  assert.deepEqual(await samples(), [
    '{family="IPv4",member="c1",tier="local"} 7',
    '{family="IPv4",member="unknown",tier="global"} 2',
    '{family="IPv4",member="unknown",tier="unknown"} 5',
  ]);
  traffic.counted([count("c1", 1)], node, []);
  assert.deepEqual(await samples(), ['{family="IPv4",member="c1",tier="local"} 1']);
});

test("a fault and its end are logged once, and shown meanwhile", () => {
  const { lines, traffic } = counting();
  traffic.unavailable(undefined);
  assert.deepEqual([lines(), linesOf(traffic)], [[], []]);
  for (let i = 0; i < 3; i++) traffic.unavailable(new CodedError("CSP_EXEC_FAILED", "no"));
  assert.match(linesOf(traffic).join(), /^\[\?\]traffic not-counted: .*"CSP_EXEC_FAILED"$/);
  for (let i = 0; i < 3; i++) traffic.unavailable(undefined);
  assert.deepEqual(lines(), [
    "warn Connections are not counted by cluster",
    "info Connections are counted by cluster again",
  ]);
  assert.deepEqual(linesOf(traffic), []);
});
