import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import { CodedError } from "../../common/errors.ts";
import { createLogger } from "../../common/log.ts";
import { failing, ok, unknown } from "../preflight/finding.ts";
import { AgentMetrics } from "./metrics.ts";
import { Observer } from "./observer.ts";
import type { ImportSummary, PortSummary } from "./summary.ts";

/** The samples whose name begins with `clusterset_agent_<name>`, as Prometheus reads them. */
async function samples(metrics: AgentMetrics, name: string): Promise<string[]> {
  const lines = (await metrics.text()).split("\n");
  const prefix = "clusterset_agent_";
  return lines
    .filter((line) => line.startsWith(`${prefix}${name}`))
    .map((line) => line.slice(prefix.length));
}

const PORT: PortSummary = {
  name: "demo/serve:http",
  protocol: "TCP",
  family: "IPv4",
  tier: "local",
  reason: "nearest-ready",
  endpoints: 3,
};
const { tier: _, ...TIERLESS } = PORT;

function summary(...ports: readonly PortSummary[]): ImportSummary {
  return { importKey: "demo/serve", reason: "programmed", vips: [], ports };
}

/** The metrics, and an observer that fills them at 5 s of the clock. */
function observed(): { readonly metrics: AgentMetrics; readonly observer: Observer } {
  const metrics = new AgentMetrics();
  const log = createLogger({ level: "error", format: "json" }, { write: () => {} });
  return { metrics, observer: new Observer(log, metrics, { now: () => 5000 }) };
}

const PASS = { family: "IPv4", seconds: 0.0015, writes: 0, deletes: 0, changedAt: [] } as const;

test("a pass is counted with its duration, its writes and the latency of each change", async () => {
  const { metrics, observer } = observed();
  observer.reconciled({ ...PASS, scope: "complete" });
  const changes = { writes: 7, deletes: 2, changedAt: [4999.2, 2000] };
  observer.reconciled({ ...PASS, scope: "changed", ...changes });
  const durations = await samples(metrics, "sync_duration_seconds");
  assert.ok(
    durations.includes('sync_duration_seconds_bucket{le="0.001",family="IPv4",scope="changed"} 0'),
  );
  assert.ok(
    durations.includes('sync_duration_seconds_bucket{le="0.002",family="IPv4",scope="changed"} 1'),
  );
  const latencies = await samples(metrics, "network_programming_duration_seconds");
  assert.ok(
    latencies.includes('network_programming_duration_seconds_bucket{le="0.001",family="IPv4"} 1'),
  );
  assert.ok(latencies.includes('network_programming_duration_seconds_count{family="IPv4"} 2'));
  assert.deepEqual(await samples(metrics, "kernel_objects"), [
    'kernel_objects_written_total{family="IPv4"} 7',
    'kernel_objects_deleted_total{family="IPv4"} 2',
  ]);
});

test("the last success and the last queued change are times of day, in seconds", async () => {
  const { metrics, observer } = observed();
  const before = Date.now() / 1000;
  observer.planned("demo/serve", undefined);
  observer.reconciled({ ...PASS, family: "IPv6", scope: "complete" });
  const [queued = "", success = ""] = [
    ...(await samples(metrics, "sync_last_queued_timestamp_seconds")),
    ...(await samples(metrics, 'sync_last_success_timestamp_seconds{family="IPv6"}')),
  ].map((line) => line.split(" ").at(-1));
  assert.ok(Number(queued) >= before - 0.001 && Number(success) >= Number(queued));
});

test("failures are counted by code, and without one as unknown", async () => {
  const { metrics, observer } = observed();
  const failure = { family: "IPv4", failures: 1, retryIn: 1000 } as const;
  observer.failed({ ...failure, error: new CodedError("CSP_RESTORE_EXITED", "no") });
  observer.failed({ ...failure, error: new Error("a name that a user chose") });
  assert.deepEqual(await samples(metrics, "sync_failures_total"), [
    'sync_failures_total{family="IPv4",code="CSP_RESTORE_EXITED"} 1',
    'sync_failures_total{family="IPv4",code="unknown"} 1',
  ]);
});

test("imports, ports and endpoints are counted as they are now, by tier and reason", async () => {
  const metrics = new AgentMetrics();
  const local = summary(PORT, { ...PORT, protocol: "UDP", tier: "global", endpoints: 1 });
  const rejecting = summary({ ...TIERLESS, reason: "no-endpoint", endpoints: 0 });
  metrics.planned(undefined, local);
  metrics.planned(local, rejecting);
  metrics.planned(undefined, local);
  assert.deepEqual(await samples(metrics, "imports"), ['imports{reason="programmed"} 2']);
  assert.deepEqual(await samples(metrics, "service_ports"), [
    'service_ports{tier="local",reason="nearest-ready"} 1',
    'service_ports{tier="global",reason="nearest-ready"} 1',
    'service_ports{tier="none",reason="no-endpoint"} 1',
  ]);
  assert.deepEqual(await samples(metrics, "endpoints"), [
    'endpoints{tier="local"} 3',
    'endpoints{tier="global"} 1',
  ]);
  metrics.planned(local, undefined);
  metrics.planned(rejecting, undefined);
  const over = { ...summary(PORT), limited: { reason: "import-limit", slices: 2 } } as const;
  metrics.planned(undefined, over);
  const limited = 'limited_imports{reason="import-limit"}';
  assert.deepEqual(await samples(metrics, "limited_imports"), [`${limited} 1`]);
  metrics.planned(over, undefined);
  assert.deepEqual(await samples(metrics, "limited_imports"), [`${limited} 0`]);
  assert.deepEqual(await samples(metrics, "imports"), ['imports{reason="programmed"} 0']);
});

test("a port that changes its tier is counted; one that appears or stays is not", async () => {
  const metrics = new AgentMetrics();
  const regional = summary({ ...PORT, tier: "regional" });
  const rejecting = summary({ ...TIERLESS, reason: "no-endpoint", endpoints: 0 });
  metrics.planned(undefined, summary(PORT));
  metrics.planned(summary(PORT), summary({ ...PORT, endpoints: 2 }));
  metrics.planned(summary(PORT), regional);
  metrics.planned(regional, rejecting);
  metrics.planned(rejecting, summary(PORT));
  const moves = await samples(metrics, "tier_changes_total");
  assert.equal(moves.length, 24, "each possible one begins with 0");
  assert.deepEqual(moves.filter((line) => !line.endsWith(" 0")).toSorted(), [
    'tier_changes_total{family="IPv4",from="local",to="regional"} 1',
    'tier_changes_total{family="IPv4",from="none",to="local"} 1',
    'tier_changes_total{family="IPv4",from="regional",to="none"} 1',
  ]);
});

test("a rejected part is in the gauge while it exists, and in the counter once", async () => {
  const metrics = new AgentMetrics();
  const problem: Problem = {
    reason: "invalid-port",
    object: "EndpointSlice demo/x",
    field: "ports[0].port",
    value: "0",
  };
  metrics.rejected([], [problem]);
  metrics.rejected([problem], [problem, { ...problem, field: "ports[1].port" }]);
  metrics.rejected([problem, { ...problem, field: "ports[1].port" }], [problem]);
  assert.deepEqual(await samples(metrics, "rejected_parts"), [
    'rejected_parts{reason="invalid-port"} 1',
  ]);
  assert.deepEqual(await samples(metrics, "rejections_total"), [
    'rejections_total{reason="invalid-port"} 2',
  ]);
});

test("the metrics of the process begin with the start", async () => {
  const metrics = new AgentMetrics();
  assert.doesNotMatch(await metrics.text(), /^process_/m);
  metrics.start();
  assert.match(await metrics.text(), /^process_resident_memory_bytes \d+$/m);
});

test("a preflight check is 1 or 0, and absent while its result is unknown", async () => {
  const metrics = new AgentMetrics();
  const route = { check: "route", family: "IPv4" } as const;
  metrics.preflightRan([failing(route, "no-route", "x"), ok({ check: "conntrack" })], {
    count: 7,
    limit: 100,
  });
  assert.deepEqual(await samples(metrics, "preflight_failing"), [
    'preflight_failing{check="route",family="IPv4"} 1',
    'preflight_failing{check="conntrack",family=""} 0',
  ]);
  assert.deepEqual(await samples(metrics, "conntrack_entries"), [
    "conntrack_entries 7",
    "conntrack_entries_limit 100",
  ]);
  metrics.preflightRan(
    [unknown(route, "x"), failing({ check: "conntrack" }, "conntrack-full", "x")],
    undefined,
  );
  assert.deepEqual(await samples(metrics, "preflight_failing"), [
    'preflight_failing{check="conntrack",family=""} 1',
  ]);
});
