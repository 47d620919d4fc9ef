import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { HealthObserver } from "../../agent/observe/health-observer.ts";
import { AgentMetrics } from "../../agent/observe/metrics.ts";
import { type Finding, failing } from "../../agent/preflight/finding.ts";
import type { FamilyProgress } from "../../agent/sync/agent.ts";
import type { ContextStatus } from "../../cli/view/status.ts";
import { VERSION } from "../../common/version.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { logLines } from "../doubles/log-lines.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControllerStage } from "./controller-stage.ts";
import { agentPages, PodPorts } from "./pod-ports.ts";
import { readerRights } from "./rights.ts";

const LEASE = manifest("Lease", `${registryNamespace("c2")}/cluster`);

const NODE = manifest("Node", "n1");

let mesh: ControllerStage;
let user: CommandLine;
let ports: PodPorts;
const families = new Map<"IPv4", FamilyProgress>([["IPv4", { synced: true }]]);
let findings: readonly Finding[] = [];
const health = new HealthObserver(logLines().log, new AgentMetrics());
before(async () => {
  mesh = await ControllerStage.open({ clusters: ["c1", "c2"], users: ["reader"] });
  await mesh.start();
  const [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  await c1.namespace("shop");
  await c2.offer("shop/web", "10.2.0.7");
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  await eventually(async () =>
    assert.equal((await c1.page("/debug")).match(/"renewing"/g)?.length, 2),
  );
  ports = await PodPorts.start(c1.plane);
  await ports.pod("controller", "controller-1", c1.pagesPort);
  const own = { findings: () => findings, remarks: () => health.remarks() };
  await ports.agent(agentPages({ agent: { families }, ...own }));
  const [one, two] = [c1, c2].map(({ plane }) => plane.inlineKubeconfig()) as [string, string];
  user = new CommandLine({ one, two });
});
after(async () => {
  user?.[Symbol.dispose]();
  await ports?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
});

async function statusOf(...argv: readonly string[]) {
  const { code, out, note } = await user.run("status", "-o", "json", ...argv);
  assert.notEqual(out, "", note);
  const { contexts } = JSON.parse(out) as { contexts: [ContextStatus, ...ContextStatus[]] };
  return { code, context: contexts[0], contexts };
}

test("all is well: both clusters as the leader sees them, the agent in sync, and exit code 0", async () => {
  const { code, context } = await statusOf();
  const rows = context.clusters.map((one) => [one.cluster, one.state, one.reason, one.exports]);
  assert.deepEqual(rows.join(" "), "c1,alive,renewing,0 c2,alive,renewing,1");
  for (const { latencyMs = 0 } of context.clusters) assert.ok(latencyMs > 0);
  assert.equal(context.cluster, "c1");
  assert.equal(context.controllers.leader, "controller-1");
  assert.deepEqual([context.agents.inSync, context.agents.versions], [1, [VERSION]]);
  assert.deepEqual(context.problems, []);
  assert.equal(code, 0);
  const text = (await user.run("status")).out;
  assert.match(text, /^c2 +alive +renewing +\d+ ms +\d\S* +1 +1 +one$/m);
  assert.match(text, /^one +1 +1\/1 +1 +0 +0 +0 +\S+$/m);
  assert.match(text, /^No problems\.$/m);
});

test("agents: behind, not ready and findings of the node, with the reason words of their pages", async () => {
  families.set("IPv4", { synced: true, oldestWaiting: performance.now() - 8_000 });
  assert.equal((await statusOf()).context.agents.behind, 1);
  families.set("IPv4", { synced: true });
  findings = [failing({ check: "route", family: "IPv4" }, "no-route", "Add a route.")];
  const found = await user.run("status");
  assert.equal(found.code, 3);
  assert.match(found.out, /^one +preflight-route-IPv4 on n1 +no-route +Add a route\.$/m);
  const checked = await user.run("check", "--endpoint-cidrs", "one=10.1.0.0/16");
  assert.match(checked.out, /^one +kubernetes +ok +v1\.\d+\.\d+$/m, checked.note);
  assert.match(checked.out, /^one +agents +ok +1 in sync/m);
  assert.match(checked.out, /^one +preflight +failing +n1: preflight-route-IPv4 no-route: Add a/m);
  findings = [];
  families.set("IPv4", { synced: false });
  const unsynced = await statusOf();
  assert.equal(unsynced.code, 4);
  const says = { state: "not-ready", reason: "not-synced", detail: "first-sync-IPv4" };
  const agent = { node: "n1", pod: "agent-1", findings: [], version: VERSION, backend: "iptables" };
  assert.deepEqual(unsynced.context.agents.nodes, [{ ...agent, ...says, severity: "fault" }]);
  const skipped = await statusOf("--no-agents");
  assert.deepEqual([skipped.code, skipped.context.agents.unknown], [0, 1]);
  families.set("IPv4", { synced: true });
});

test("a node whose probes do not reach a cluster is reported before an outage", async () => {
  health.blind(new Set(["c2"]));
  const { code, out } = await user.run("status");
  health.blind(new Set());
  assert.equal(code, 3);
  assert.match(out, /^one +health on n1 +blind +probes of this node do not reach "c2"; without/m);
  assert.match(out, /^one +1 +1\/1 +1 +0 +0 +0 +\S+$/m, "the agent is in sync");
});

test("Nodes that get a region, while the cluster publishes none, are a problem", async () => {
  const { admin } = mesh.cluster("c1").plane;
  const label = (region: string | null) =>
    admin.patch(NODE, { metadata: { labels: { "topology.kubernetes.io/region": region } } });
  await label("eu-west");
  const { code, context } = await statusOf();
  assert.equal(code, 3);
  const [{ object, reason, detail = "" } = assert.fail("no problem")] = context.problems;
  assert.deepEqual([object, reason], ["Cluster c1", "region-missing"]);
  assert.match(detail, /^Nodes are in eu-west, the cluster publishes no region:/);
  await label(null);
  assert.deepEqual((await statusOf()).context.problems, []);
});

test("a program that does not answer is a row", async () => {
  await ports.pod("agent", "agent-2", 1);
  const { code, context } = await statusOf();
  assert.equal(code, 3);
  const [silent] = context.agents.nodes;
  const { detail = "", ...row } = silent ?? {};
  const unknown = { severity: "warning", state: "unknown", reason: "unreachable" };
  assert.deepEqual(row, { ...unknown, findings: [], node: "n1", pod: "agent-2" });
  assert.match(detail, /ECONNREFUSED/);
  await ports.remove("agent-2");
});

test("the rights of the guide are enough to read pages, and without them the row says what is missing", async () => {
  const { plane } = mesh.cluster("c1");
  using reader = new CommandLine({ one: plane.inlineKubeconfig({ user: "reader" }) });
  const controllers = async () => {
    const { out } = await reader.run("status", "-o", "json");
    return (JSON.parse(out) as { contexts: ContextStatus[] }).contexts[0];
  };
  const unread = (await controllers())?.unread ?? [];
  assert.ok(unread.every(({ reason }) => reason === "forbidden"));
  const missing = ["agents", "controllers", "deployments", "exports", "imports"];
  assert.deepEqual(unread.map(({ what }) => what).sort(), missing);
  const rights = readerRights("reader").filter(({ kind }) => !kind.startsWith("Cluster"));
  assert.equal(rights.length, 2);
  for (const object of rights) await plane.admin.apply(object);
  const allowed = await controllers();
  assert.equal(allowed?.controllers.leader, "controller-1");
  assert.equal(allowed?.agents.inSync, 1);
});

test("with several contexts, one without programs has a row, and the others are as before", async () => {
  const { code, contexts } = await statusOf("--all-contexts");
  assert.equal(code, 3);
  const rows = contexts.map(({ context, clusters }) => `${context} ${clusters.length}`);
  assert.deepEqual(rows, ["one 2", "two 0"]);
  assert.equal(contexts[1]?.controllers.detail, "there is no pod");
});

test("problems of imports and exports, in one namespace if that is requested", async () => {
  const [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  await c1.export("shop/none");
  await c1.untilCondition("shop/none", "Valid", "False NoService");
  await c2.endpoints("shop/web", ["10.2.0.7"], false);
  await c1.untilReady("shop/web", { "10.2.0.7": "dead" });
  const { code, context } = await statusOf();
  assert.equal(code, 4);
  const rows = context.problems.map((one) => `${one.object} ${one.severity} ${one.reason}`);
  const none = "ServiceExport shop/none warning NoService";
  assert.deepEqual(rows, ["ServiceImport shop/web fault no-endpoint", none]);
  assert.equal((await statusOf("-n", "other")).code, 0);
  await c2.endpoints("shop/web", ["10.2.0.7"]);
  await c1.untilReady("shop/web", { "10.2.0.7": "ready" });
  await c1.plane.admin.delete(manifest("ServiceExport", "shop/none"));
});

test("a drained cluster is shown with its end, and a dead one as stale; --watch prints only that, and ends on Ctrl-C", async () => {
  const stop = new AbortController();
  const watching = user.start(["status", "--watch"], stop.signal);
  await eventually(() => assert.match(watching.out(), /No problems\./), 30_000);
  const first = watching.out();
  assert.equal((await user.run("drain", "c2", "--for", "1h", "--reason", "kernel")).code, 0);
  const drained =
    /^\d\d:\d\d:\d\d one: cluster c2: drained \(drained\); 1 export; until \S+Z by ann \(kernel\)$/m;
  await eventually(() => assert.match(watching.out().slice(first.length), drained), 30_000);
  assert.equal((await user.run("undrain", "c2")).code, 0);
  await mesh.cluster("c2").kill();
  // Not before: on a busy machine, a living cluster might become stale.
  await mesh.cluster("c2").plane.admin.patch(LEASE, { spec: { leaseDurationSeconds: 6 } });
  const stale = /^\S+ one: cluster c2: stale \(lease-silent\)/m;
  await eventually(() => assert.match(watching.out(), stale), 60_000);
  const table = await user.run("status");
  assert.match(table.out, /^c2 +stale +lease-silent .* silent for \d+ s/m);
  stop.abort();
  assert.equal(await watching.code, 3);
  assert.doesNotMatch(watching.out().slice(first.length), /^CLUSTER/m);
});
