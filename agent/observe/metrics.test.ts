import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import { CodedError } from "../../common/errors.ts";
import { failing, unknown, well } from "../preflight/verdict.ts";
import { AgentMetrics } from "./metrics.ts";
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

test("a pass is counted with its duration, its writes and the latency of each change", async () => {
  const metrics = new AgentMetrics();
  metrics.syncDone({
    family: "IPv4",
    scope: "changed",
    seconds: 0.0015,
    writes: 7,
    deletes: 2,
    latencies: [0.0008, 3],
  });
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
  const metrics = new AgentMetrics();
  const before = Date.now() / 1000;
  metrics.changeQueued();
  metrics.syncDone({
    family: "IPv6",
    scope: "complete",
    seconds: 1,
    writes: 0,
    deletes: 0,
    latencies: [],
  });
  const [queued = "", success = ""] = [
    ...(await samples(metrics, "sync_last_queued_timestamp_seconds")),
    ...(await samples(metrics, 'sync_last_success_timestamp_seconds{family="IPv6"}')),
  ].map((line) => line.split(" ").at(-1));
  assert.ok(Number(queued) >= before - 0.001 && Number(success) >= Number(queued));
});

test("failures are counted by code, and what nobody foresaw as unknown", async () => {
  const metrics = new AgentMetrics();
  metrics.syncFailed("IPv4", new CodedError("CSP_RESTORE_EXITED", "no"));
  metrics.syncFailed("IPv4", new Error("somebody's name"));
  metrics.restoreRespawned("IPv4");
  assert.deepEqual(await samples(metrics, "sync_failures_total"), [
    'sync_failures_total{family="IPv4",code="CSP_RESTORE_EXITED"} 1',
    'sync_failures_total{family="IPv4",code="unknown"} 1',
  ]);
  assert.deepEqual(await samples(metrics, "restore_respawns_total"), [
    'restore_respawns_total{family="IPv4"} 1',
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
  assert.deepEqual(await samples(metrics, "tier_changes_total"), [
    'tier_changes_total{from="local",to="regional"} 1',
    'tier_changes_total{from="regional",to="none"} 1',
    'tier_changes_total{from="none",to="local"} 1',
  ]);
});

test("a refused part is in the gauge while it is there, and in the counter once", async () => {
  const metrics = new AgentMetrics();
  const problem: Problem = {
    reason: "invalid-port",
    object: "EndpointSlice demo/x",
    field: "ports[0].port",
    value: "0",
  };
  metrics.refused([], [problem]);
  metrics.refused([problem], [problem, { ...problem, field: "ports[1].port" }]);
  metrics.refused([problem, { ...problem, field: "ports[1].port" }], [problem]);
  assert.deepEqual(await samples(metrics, "rejected_parts"), [
    'rejected_parts{reason="invalid-port"} 1',
  ]);
  assert.deepEqual(await samples(metrics, "rejections_total"), [
    'rejections_total{reason="invalid-port"} 2',
  ]);
});

test("the age of the oldest waiting change is asked for at each scrape", async () => {
  const metrics = new AgentMetrics();
  let age = 1.5;
  metrics.readWaiting(() => [["IPv4", age]]);
  await metrics.text();
  age = 0;
  assert.deepEqual(await samples(metrics, "oldest_waiting"), [
    'oldest_waiting_change_age_seconds{family="IPv4"} 0',
  ]);
});

test("what runs, broken manifests and the limit of affinity are shown; the process only once started", async () => {
  const metrics = new AgentMetrics();
  metrics.runs({ version: "1.2.3", node: "v24", backend: "iptables" });
  metrics.manifestFilesBroken(2);
  metrics.affinityLimit(100);
  const lines = await metrics.text();
  assert.match(
    lines,
    /^clusterset_agent_build_info\{version="1.2.3",node="v24",backend="iptables"\} 1$/m,
  );
  assert.match(lines, /^clusterset_agent_manifest_files_broken 2$/m);
  assert.match(lines, /^clusterset_agent_affinity_clients_limit 100$/m);
  assert.doesNotMatch(lines, /^process_/m);
  metrics.start();
  assert.match(await metrics.text(), /^process_resident_memory_bytes \d+$/m);
});

test("what a look at the node found is 1 or 0, and gone once it cannot be told", async () => {
  const metrics = new AgentMetrics();
  const route = { check: "route", family: "IPv4" } as const;
  metrics.looked([failing(route, "no-route", "x"), well({ check: "conntrack" })], {
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
  metrics.looked(
    [unknown(route, "x"), failing({ check: "conntrack" }, "conntrack-full", "x")],
    undefined,
  );
  assert.deepEqual(await samples(metrics, "preflight_failing"), [
    'preflight_failing{check="conntrack",family=""} 1',
  ]);
});
