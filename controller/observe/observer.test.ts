import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import { systemClock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { createLogger } from "../../common/log.ts";
import { LimitedLog } from "../../common/log-rate-limit.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { AnswerTimes } from "./answer-times.ts";
import { Connections } from "./connections.ts";
import { ControllerMetrics } from "./metrics.ts";
import { Observer } from "./observer.ts";

/** A log, and the fields of its lines. */
function jsonLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    const { time: _, ...fields } = JSON.parse(line);
    lines.push(fields);
  };
  return { lines, log: createLogger({ level: "info", format: "json" }, { write }) };
}

const MESSAGE = "Cannot reach the election Lease; without it, no replica writes";

test("an unreachable election Lease is logged once per reason, and so is that it is reached again", () => {
  const { log, lines: all } = jsonLog();
  const observer = new Observer(log, new ControllerMetrics());
  const lines = () => all.splice(0).map(({ msg }) => msg);
  const fail = (reason: "forbidden" | "unreachable" | "write-conflict") =>
    observer.electionFailed(new ApiFault(reason, "as it is"));
  fail("forbidden");
  fail("forbidden");
  assert.deepEqual(lines(), [MESSAGE]);
  fail("unreachable");
  // The term ends during an outage, which is the same one.
  observer.leader({ reason: "not-renewed", holder: "me" });
  fail("unreachable");
  assert.deepEqual(lines(), [MESSAGE, "Leader election state changed"]);
  observer.electionReached();
  observer.electionReached();
  assert.deepEqual(lines(), ["Reached the election Lease again"]);
  // Another replica was first, which is normal.
  fail("write-conflict");
  observer.electionReached();
  assert.deepEqual(lines(), []);
  fail("unreachable");
  assert.deepEqual(lines(), [MESSAGE]);
});

test("an import that appears, and one that goes, is one line each, with its VIPs and clusters", () => {
  const { log, lines } = jsonLog();
  const observer = new Observer(log, new ControllerMetrics());
  const status = { clusters: ["c1", "c2"], claims: [] };
  const wanted = { reason: "exported", vips: ["241.0.1.7"], status } as const;
  observer.imported("shop/web", wanted);
  observer.imported("shop/web", wanted);
  observer.imported("shop/web", undefined);
  const line = { level: "info", import: "shop/web" };
  assert.deepEqual(lines, [
    {
      ...line,
      msg: "Import state changed",
      ...{ reason: "exported", vips: ["241.0.1.7"], clusters: ["c1", "c2"] },
    },
    { ...line, msg: "Import removed", from: "exported" },
  ]);
});

test("ranges with every address are logged, and not counted as rejected, because they are used", async () => {
  const { log, lines } = logLines();
  const metrics = new ControllerMetrics();
  const observer = new Observer(log, metrics);
  const problem = (reason: "endpoint-cidrs-open" | "invalid-label") =>
    ({ reason, object: "Secret clusterset-proxy/c2", field: "metadata", value: "x" }) as const;
  observer.problems(undefined, "Secret clusterset-proxy/c2", [problem("endpoint-cidrs-open")]);
  assert.deepEqual(lines, ["Every address is allowed as an endpoint"]);
  assert.deepEqual(metrics.refusedOf(undefined), {});
  assert.doesNotMatch(await metrics.text(), /reason="endpoint-cidrs-open"/);
  const both = [problem("endpoint-cidrs-open"), problem("invalid-label")];
  observer.problems(undefined, "Secret clusterset-proxy/c2", both);
  assert.deepEqual(metrics.refusedOf(undefined), { "invalid-label": 1 });
  observer.problems(undefined, "Secret clusterset-proxy/c2", []);
  assert.deepEqual(metrics.refusedOf(undefined), {});
  assert.deepEqual(lines.slice(1), ["Rejected"]);
});

test("what a policy or another product leaves out is not counted as rejected, and forged objects are", async () => {
  const { log } = logLines();
  const metrics = new ControllerMetrics();
  const observer = new Observer(log, metrics);
  const object = "ServiceExport shop/web";
  const problem = (reason: Problem["reason"]) =>
    ({ reason, object, field: "spec", value: "x" }) as const;
  for (const cluster of [undefined, "c2"]) {
    const reasons = ["key-not-allowed", "policy-not-accepted", "namespace-not-allowed"] as const;
    observer.problems(cluster, object, [...reasons, "foreign-cluster" as const].map(problem));
  }
  const text = await metrics.text();
  assert.deepEqual(text.match(/refused_parts\{.*/g), [
    'refused_parts{from="member",reason="foreign-cluster"} 1',
  ]);
  assert.equal(text.match(/omitted_parts\{.* 1/g)?.length, 7);
  assert.equal(metrics.refusedOf(undefined)["foreign-cluster"], 1, "/debug has all");
});

test("a cluster whose objects are rejected without end has a hundred lines, then one in a minute", () => {
  const { log, lines } = logLines();
  const clock = new FakeClock();
  const metrics = new ControllerMetrics();
  const observer = new Observer(log, metrics, clock);
  const reject = (cluster: string, count: number): void => {
    for (let i = 0; i < count; i++) {
      const object = `EndpointSlice clusterset-registry-${cluster}/${i}`;
      const problem = { reason: "invalid-port", object, field: "ports", value: `${i}` } as const;
      observer.problems(cluster, object, [problem]);
      observer.problems(cluster, object, []);
    }
  };
  reject("c2", 5000);
  // The last one says that lines are left out.
  assert.equal(lines.length, 101);
  reject("c3", 1);
  assert.equal(lines.length, 102, "another cluster has lines of its own");
  clock.advance(60_000);
  reject("c2", 5000);
  assert.equal(lines.length, 103);
  assert.deepEqual(metrics.refusedOf("c2"), {});
});

test("a cluster that changes its identity, or a task that is rejected for every name, does not fill the log", () => {
  const { log, lines } = logLines();
  const observer = new Observer(log, new ControllerMetrics(), new FakeClock());
  for (let i = 0; i < 5000; i++) {
    observer.replaced("c2", `uid-${i}`, `uid-${i - 1}`);
    observer.failed("import", `shop/web-${i}`, new ApiFault("refused", "no"), 1, 200);
    observer.connection("c2", "leases", { reason: i % 2 === 0 ? "garbage" : "watching" });
    observer.connection("c2", "endpointslices", { reason: i % 2 === 0 ? "garbage" : "watching" });
  }
  assert.ok(lines.length < 4 * 101 + 1, `${lines.length}`);
});

test("a drain is logged when it begins and ends, with who, why, until when and where", () => {
  const { lines, log } = jsonLog();
  const observer = new Observer(log, new ControllerMetrics(), new FakeClock());
  const until = Date.UTC(2026, 10, 24, 6);
  const where = "Lease of c1";
  observer.drained("c1", { from: until - 1, until, by: "ann", reason: "kernel upgrade", where });
  observer.drained("c1", undefined);
  const msg = "Cluster is drained";
  assert.deepEqual(lines, [
    {
      ...{ level: "info", cluster: "c1", reason: "drained", until: "2026-11-24T06:00:00.000Z" },
      ...{ object: where, by: "ann", why: "kernel upgrade", msg },
    },
    { level: "info", cluster: "c1", msg: "Cluster is no longer drained" },
  ]);
});

test("each change of a Service's failover is logged, also those without an Event", () => {
  const { lines, log } = jsonLog();
  const observer = new Observer(log, new ControllerMetrics());
  for (const reason of ["failover-prepared", "local-terminating", "failover-prepared"] as const) {
    for (let times = 0; times < 2; times++) {
      observer.failover("shop/web", { reason, clusters: ["c2"] });
    }
  }
  assert.deepEqual(
    lines.map(({ from, reason }) => [from, reason]),
    [
      [undefined, "failover-prepared"],
      ["failover-prepared", "local-terminating"],
      ["local-terminating", "failover-prepared"],
    ],
  );
});

function observed() {
  const { lines, log } = jsonLog();
  const limited = new LimitedLog(log, systemClock);
  return { lines, connections: new Connections(limited, new ControllerMetrics()) };
}

test("a forbidden registry is logged with namespace, server message and hint", () => {
  const { lines, connections } = observed();
  const detail = 'HTTP 403: leases is forbidden: User "c1" cannot list resource "leases"';
  connections.observe("c1", "leases", { reason: "forbidden", detail });
  assert.deepEqual(lines, [
    {
      level: "warn",
      msg: "Watch failed; using last known state",
      cluster: "c1",
      namespace: "clusterset-registry-c1",
      resource: "leases",
      reason: "forbidden",
      detail,
      hint: "check the namespace and its rights, see docs/guides/mesh-or-hub.md",
    },
  ]);
});

test("an outage and its end are logged once; a missing optional CRD is no outage", () => {
  const { lines, connections } = observed();
  for (const reason of ["watching", "unreachable", "listing", "unreachable", "watching"] as const) {
    connections.observe(undefined, "services", { reason });
  }
  connections.observe(undefined, "clusterproperties", { reason: "not-served" });
  assert.deepEqual(
    lines.map(({ level, reason, was, hint }) => [level, reason, was, hint]),
    [
      ["warn", "unreachable", undefined, undefined],
      ["info", "watching", "unreachable", undefined],
    ],
  );
});

test("the median is that of the last nine answers of one API server; failed requests do not count", () => {
  const times = new AnswerTimes();
  const asked = (member: string, seconds: number, result = "200") =>
    times.asked("peer", member, { verb: "watch", result, seconds });
  assert.equal(times.median("c2", false), undefined);
  for (const seconds of [9, 9, 9, 9, 9]) asked("c2", seconds);
  for (const seconds of [0.001, 0.002, 0.003, 0.004, 0.005, 0.006]) asked("c2", seconds);
  asked("c2", 30, "stalled");
  asked("c3", 0.2);
  assert.equal(times.median("c2", false), 5);
  assert.equal(times.median("c3", false), 200);
  assert.equal(times.median("c1", true), undefined);
  times.asked("own", "", { verb: "apply", result: "200", seconds: 0.004 });
  assert.equal(times.median("c1", true), 4);
});

test("with a hub, all registries are on its API server", () => {
  const times = new AnswerTimes();
  times.asked("own", "", { verb: "list", result: "200", seconds: 0.001 });
  times.asked("registry", "", { verb: "list", result: "200", seconds: 0.05 });
  for (const isOwn of [true, false]) assert.equal(times.median("c1", isOwn), 50);
});
