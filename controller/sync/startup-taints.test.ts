import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const TAINT = { key: "clusterset-proxy.io/agent-not-ready", effect: "NoSchedule" };
const OTHER = { key: "example.com/gpu", value: "a", effect: "NoSchedule" };

/** The kubelet, a node group or a user writes a Node. */
function node(
  cluster: MemoryCluster,
  bootID: string,
  taints: readonly object[],
  name = "n1",
): void {
  const { objects } = cluster.server;
  const metadata = { name };
  const kubelet = { metadata, spec: { taints }, status: { nodeInfo: { bootID } } };
  objects.replace("nodes", name, kubelet, "kubelet");
}

/** The kubelet writes the agent's pod of a node. */
function agent(cluster: MemoryCluster, ready: "True" | "False", nodeName = "n1"): void {
  const name = `clusterset-agent-${nodeName}`;
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  const pod = {
    metadata: { namespace: "clusterset-proxy", name, labels },
    spec: { nodeName },
    status: { conditions: [{ type: "Ready", status: ready }] },
  };
  cluster.server.objects.replace("pods", `clusterset-proxy/${name}`, pod, "kubelet");
}

/** Keys of a Node's taints. */
function taintsOf(cluster: MemoryCluster, name = "n1"): string[] {
  const taints = at(cluster.server.objects.get("nodes", name), ["spec", "taints"]);
  return (Array.isArray(taints) ? taints : []).map((one: unknown) => String(at(one, ["key"])));
}

/** A cluster whose node n1, if it is given, has these taints, and an agent that is ready or not. */
async function stage(
  flags: readonly string[],
  taints?: readonly object[],
  ready: "True" | "False" = "False",
) {
  const { world, c1 } = ControllerWorld.of(["c1"]);
  c1.flags = flags;
  // That of Events of Nodes.
  c1.namespace("default");
  await world.run(5000);
  if (taints !== undefined) {
    node(c1, "a", taints);
    agent(c1, ready);
    await world.pass(5000);
  }
  const taintsAfter = async (ms: number, keys: readonly string[]) => {
    await world.pass(ms);
    assert.deepEqual(taintsOf(c1), keys);
  };
  return { world, c1, taintsAfter };
}

function noPatch({ kind }: { readonly kind: string }): void {
  if (kind === "nodes") throw new Refusal(403, 'nodes "n1" is forbidden: cannot patch');
}

const RESTARTED = ["--startup-taint", "restarted-nodes"];

test("a new node loses the startup taint as soon as its agent is ready, and keeps its other taints", async () => {
  const { world, c1, taintsAfter } = await stage(["--startup-taint", "new-nodes"]);
  node(c1, "a", [TAINT, OTHER]);
  await world.pass(5000);
  agent(c1, "False");
  await taintsAfter(5000, [TAINT.key, OTHER.key]);
  assert.match(await c1.metrics.text(), /startup_tainted_nodes\{reason="agent-awaited"\} 1/);
  agent(c1, "True");
  await taintsAfter(1000, [OTHER.key]);
  const metrics = await c1.metrics.text();
  assert.match(metrics, /startup_tainted_nodes\{reason="agent-awaited"\} 0/);
  assert.match(metrics, /startup_taint_changes_total\{reason="agent-ready"\} 1/);
});

test("a node whose agent never becomes ready is reported after a minute, and takes pods after the timeout", async () => {
  const { world, c1, taintsAfter } = await stage([...RESTARTED, "--startup-taint-timeout", "120s"]);
  node(c1, "a", [TAINT]);
  agent(c1, "False");
  await world.pass(59_000);
  assert.deepEqual(c1.events("Node"), []);
  await world.pass(2000);
  assert.match(c1.events("Node").join(), /^Warning AgentLate: The node has a clusterset-agent/);
  assert.deepEqual(taintsOf(c1), [TAINT.key]);
  await taintsAfter(60_000, []);
  assert.equal(c1.events("Node", "AgentOverdue").length, 1);
  // The agent still is not ready: the taint does not come back.
  await taintsAfter(600_000, []);
  assert.equal(c1.events("Node").length, 2);
});

test("a node that restarts has the startup taint until its agent is ready again; an agent that restarts changes nothing", async () => {
  const { world, c1, taintsAfter } = await stage(RESTARTED, [OTHER], "True");
  agent(c1, "False");
  await taintsAfter(5000, [OTHER.key]);
  agent(c1, "True");
  await world.pass(5000);
  // A fast restart: the pod still counts as ready for a moment.
  node(c1, "b", [OTHER]);
  await taintsAfter(1000, [OTHER.key]);
  agent(c1, "False");
  await taintsAfter(1000, [OTHER.key, TAINT.key]);
  agent(c1, "True");
  await taintsAfter(1000, [OTHER.key]);
  // A rollout soon afterwards.
  agent(c1, "False");
  await taintsAfter(5000, [OTHER.key]);
});

test("a user who removes the startup taint of a restarted node has decided", async () => {
  const { c1, taintsAfter } = await stage(RESTARTED, [], "False");
  node(c1, "b", []);
  await taintsAfter(1000, [TAINT.key]);
  node(c1, "b", []);
  await taintsAfter(30_000, []);
});

test("a restart of a node is not forgotten when another replica becomes the leader", async () => {
  const { world, c1, taintsAfter } = await stage(RESTARTED);
  c1.start();
  node(c1, "a", []);
  agent(c1, "True");
  await world.pass(5000);
  c1.kill();
  await world.pass(2000);
  node(c1, "b", []);
  agent(c1, "False");
  await taintsAfter(40_000, [TAINT.key]);
});

for (const [flags, what] of [
  [[], "without the flag, the controller leaves startup taints alone, and reads no pods"],
  [["--startup-taint", "new-nodes"], "with new-nodes, a node that restarts gets no taint"],
] as const) {
  test(what, async () => {
    const { world, c1, taintsAfter } = await stage(flags);
    node(c1, "a", []);
    node(c1, "a", [TAINT], "n2");
    agent(c1, "False");
    agent(c1, flags.length === 0 ? "True" : "False", "n2");
    await world.pass(5000);
    node(c1, "b", []);
    await taintsAfter(5000, []);
    assert.deepEqual(taintsOf(c1, "n2"), [TAINT.key]);
    const readsPods = c1.server.asked.some((path) => path.includes("/pods"));
    assert.equal(readsPods, flags.length > 0);
  });
}

test("taints that another writer adds meanwhile stay: the patch is made of the Node as it is", async () => {
  const { world, c1, taintsAfter } = await stage(RESTARTED, [TAINT], "False");
  c1.server.weather = { delay: 2000, lost: 0 };
  agent(c1, "True");
  for (let i = 0; i < 10; i++) {
    await world.pass(500);
    const now = at(c1.server.objects.get("nodes", "n1"), ["spec", "taints"]);
    node(c1, "a", [...(now as object[]), { key: `example.com/${i}`, effect: "NoSchedule" }]);
  }
  await taintsAfter(
    60_000,
    Array.from({ length: 10 }, (_, i) => `example.com/${i}`),
  );
});

test("a node whose taint may not be removed is counted until it is", async () => {
  const { c1, taintsAfter } = await stage(RESTARTED, [TAINT], "False");
  c1.server.admitWrite = noPatch;
  agent(c1, "True");
  await taintsAfter(5000, [TAINT.key]);
  assert.match(await c1.metrics.text(), /startup_tainted_nodes\{reason="agent-ready"\} 1/);
  c1.server.admitWrite = () => undefined;
  await taintsAfter(60_000, []);
  assert.match(await c1.metrics.text(), /startup_tainted_nodes\{reason="agent-ready"\} 0/);
});

test("a restarted node that is deleted before it gets the taint is not counted", async () => {
  const { world, c1 } = await stage(RESTARTED, [], "False");
  c1.server.admitWrite = noPatch;
  node(c1, "b", []);
  await world.pass(1000);
  assert.match(await c1.metrics.text(), /startup_tainted_nodes\{reason="node-restarted"\} 1/);
  c1.server.objects.delete("nodes", "n1");
  await world.pass(50);
  assert.match(await c1.metrics.text(), /startup_tainted_nodes\{reason="node-restarted"\} 0/);
});

test("that the agents' pods cannot be read is logged: every node seems to have no agent", async () => {
  const { world, c1 } = ControllerWorld.of(["c1"]);
  c1.flags = RESTARTED;
  c1.server.unserved.add("pods");
  await world.run(5000);
  assert.ok(c1.log.includes("Watch failed; using last known state"), c1.log.join("\n"));
  assert.match(await c1.metrics.text(), /resource="pods",reason="not-served"\} [1-9]/);
});

test("a program that sets the taint again and again causes few writes, and one that stops does not win", async () => {
  const { world, c1, taintsAfter } = await stage(RESTARTED);
  agent(c1, "True");
  node(c1, "a", [TAINT]);
  let isAgain = true;
  c1.server.objects.listen(({ kind, key }) => {
    if (kind !== "nodes" || key !== "n1" || !isAgain || taintsOf(c1).length > 0) return;
    setImmediate(() => node(c1, "a", [TAINT]));
  });
  await world.pass(60_000);
  const writes = c1.server.writes.filter(({ kind }) => kind === "nodes").length;
  assert.ok(writes >= 5 && writes <= 8, `${writes} writes`);
  isAgain = false;
  await taintsAfter(15_000, []);
});
