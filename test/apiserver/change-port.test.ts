import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { blocksOf } from "../e2e/guide.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { kubernetesCommand } from "./commands.ts";
import { ControllerStage, IMPORT, type StagedCluster, serviceSlice } from "./controller-stage.ts";

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
before(async () => {
  mesh = await ControllerStage.open({ clusters: Object.keys(PODS) });
  await mesh.start();
  for (const cluster of mesh.clusters) {
    await cluster.serve(KEY, []);
    await publish(cluster, [OLD]);
    await cluster.export(KEY);
  }
  const contexts = mesh.clusters.map(({ id, plane }) => [
    id,
    plane.inlineKubeconfig({ user: "admin" }),
  ]);
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

/** Runs commands in a shell, as the user would. */
async function paste(commands: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-ec", commands], {
    env: {
      PATH: `${dirname(kubernetesCommand("kubectl"))}:${process.env.PATH}`,
      KUBECONFIG: user.kubeconfig,
      HOME: dirname(user.kubeconfig),
    },
  });
  return stdout;
}

/** The commands of a step for a cluster: the guide shows those for `cluster-1`. */
async function inCluster({ id }: StagedCluster, step: string): Promise<void> {
  for (const block of blocksOf(GUIDE, step)) await paste(block.replaceAll("cluster-1", id));
}

/** Waits until the guide's check shows these ports in both clusters, and that it allows to go on. */
async function untilChecked(ports: string): Promise<void> {
  const [check = ""] = blocksOf(GUIDE, CHECK);
  await eventually(async () => {
    const lines = (await paste(check)).split("\n");
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
  const [first, second] = mesh.clusters;
  assert.ok(first && second);
  await untilPorts("80");
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
  const [first] = mesh.clusters;
  assert.ok(first);
  await assert.rejects(inCluster(first, REMOVE), /test/i);
  await untilChecked("8080");
});

/** Waits until all clusters have an import with these ports. */
async function untilPorts(ports: string): Promise<void> {
  for (const cluster of mesh.clusters) {
    await eventually(async () => {
      const spec = (await cluster.find(IMPORT, KEY))?.spec as { ports?: { port: number }[] };
      assert.equal(spec?.ports?.map(({ port }) => port).join(" "), ports);
    }, 60_000);
  }
}
