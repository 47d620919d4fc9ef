import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { blocksOf } from "../e2e/guide.ts";
import { paste } from "../e2e/reader.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControllerStage, type StagedCluster, serviceSlice } from "./controller-stage.ts";

// docs/guides/change-port.md, by copy and paste, on the API servers of a mesh. controller/sync/change-port.test.ts follows each change
// of an object. The tests are one story, in order.

const GUIDE = "change-port.md";
const ADD = "1. Add the new port in each cluster";
const CHECK = "2. Check";
const REMOVE = "4. Remove the old port in each cluster";

const KEY = "shop/web";
const PODS = { "cluster-1": "10.1.0.7", "cluster-2": "10.2.0.7" };
const [OLD, NEW] = [
  { name: "http", port: 80, protocol: "TCP" },
  { name: "http-8080", port: 8080, protocol: "TCP" },
];

let mesh: ControllerStage;
let user: CommandLine;
let first: StagedCluster;
let second: StagedCluster;
before(async () => {
  mesh = await ControllerStage.open({ clusters: Object.keys(PODS) });
  [first, second] = [mesh.cluster("cluster-1"), mesh.cluster("cluster-2")];
  await mesh.start();
  for (const cluster of mesh.clusters) {
    await cluster.offer(KEY);
    await publish(cluster, [OLD]);
  }
  const contexts = mesh.clusters.map(({ id, plane }) => [id, plane.inlineKubeconfig()]);
  user = new CommandLine(Object.fromEntries(contexts));
});
after(async () => {
  user?.[Symbol.dispose]();
  await mesh?.[Symbol.asyncDispose]();
});

/** Kubernetes' part: the endpoints of the Service have its ports. No kube-controller-manager runs here. */
async function publish({ id, plane }: StagedCluster, ports: readonly object[]): Promise<void> {
  const endpoint = { addresses: [PODS[id as keyof typeof PODS]], conditions: { ready: true } };
  await plane.admin.apply(serviceSlice(KEY, [endpoint], { ports }));
}

/** The commands of a step for a cluster: the guide shows those for `cluster-1`. */
async function inCluster({ id }: StagedCluster, step: string): Promise<void> {
  for (const block of blocksOf(GUIDE, step)) await paste(user, block.replaceAll("cluster-1", id));
}

/** Waits until the guide's check shows these ports in both clusters, and that it allows to go on. */
async function untilChecked(ports: string): Promise<void> {
  const [check = ""] = blocksOf(GUIDE, CHECK);
  await eventually(async () => {
    const lines = (await paste(user, check)).split("\n");
    const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
    assert.equal(count(new RegExp(`^${ports}$`)), 2, lines.join("\n"));
    assert.equal(count(/^Conflict False /), 2, lines.join("\n"));
    assert.equal(count(/^Ready True /), 2, lines.join("\n"));
    for (const id of Object.keys(PODS)) {
      const slices = new RegExp(`^\\S+ +IPv4 +${ports.replace(" ", ",")} .* ${id}$`);
      assert.ok(count(slices) >= 1, lines.join("\n"));
    }
  }, 60_000);
}

test("a port is added in each cluster, and the check reports when all clusters have it", async () => {
  for (const cluster of mesh.clusters) await cluster.untilImported(KEY, Object.values(PODS));
  await inCluster(first, ADD);
  await publish(first, [OLD, NEW]);
  await first.untilCondition(KEY, "Conflict", "True PortConflict");
  await inCluster(second, ADD);
  await publish(second, [OLD, NEW]);
  await untilChecked("80 8080");
});

test("the old port is removed in each cluster", async () => {
  for (const cluster of mesh.clusters) {
    await inCluster(cluster, REMOVE);
    await publish(cluster, [NEW]);
  }
  await untilChecked("8080");
});

test("a port with another number is not removed by the guide's command", async () => {
  await assert.rejects(inCluster(first, REMOVE), /The request is invalid/);
  await untilChecked("8080");
});
