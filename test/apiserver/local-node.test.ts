import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AGENT, AgentStage } from "./agent-stage.ts";
import { apiServerFiles } from "./components.ts";
import { clusterProperty } from "./crds.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** Gives a program a service account, as kubelet does: $1 is the token's file, $2 the CA's. Nobody else sees it. */
const AS_POD = `mount -t tmpfs none /mnt && to=/mnt/secrets/kubernetes.io/serviceaccount && mkdir -p $to &&
  cp "$1" $to/token && cp "$2" $to/ca.crt && mount --no-mtab --move /mnt /run && shift 2 && exec "$@"`;
const REGION = { "topology.kubernetes.io/region": "eu-west" };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open();
  const { admin } = stage.plane;
  const metadata = { name: "n1", labels: REGION };
  const spec = { podCIDRs: ["10.1.3.0/24"] };
  await admin.apply({ apiVersion: "v1", kind: "Node", metadata, spec });
  await admin.apply(importObject("shop/web", ["241.0.0.7"], [{ name: "http", port: 80 }]));
  const ports = [{ name: "http", port: 8080 }];
  for (const [address, origin] of Object.entries({
    "10.1.3.5": { cluster: "c1", region: "eu-west" },
    "10.2.0.5": { cluster: "c2", region: "us-east" },
  }))
    await admin.apply(sliceObject(`web-${origin.cluster}`, "shop/web", origin, ports, [address]));
});
after(() => stage[Symbol.asyncDispose]());

const property = (value: string) => clusterProperty(PROPERTY_CLUSTER_ID, value);

test("cluster ID and region come from the API server, and their changes are programmed, there and back", async () => {
  stage.newAgent();
  await stage.agent.start();
  assert.match(await stage.rules(), /"shop\/web:http regional c1"/);
  assert.match(stage.agent.log, /Cluster ID unknown/);
  assert.doesNotMatch(stage.agent.log, /Region unknown/);
  await stage.plane.admin.apply(property("c1"));
  await stage.untilRules(/"shop\/web:http local c1"/);
  await stage.plane.admin.apply(property("c2"));
  await stage.untilRules(/"shop\/web:http local c2"/);
  await stage.plane.admin.apply(property("not an id"));
  // An invalid id names no cluster: only the region is known.
  await stage.untilRules(/"shop\/web:http regional c1"/);
  assert.match(stage.agent.log, /ClusterProperty cluster\.clusterset\.k8s\.io/);
  const moveTo = (region: string) =>
    stage.plane.admin.patch(
      { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } },
      { metadata: { labels: { "topology.kubernetes.io/region": region } } },
    );
  await moveTo("us-east");
  await stage.untilRules(/"shop\/web:http regional c2"/);
  await moveTo("ap-south");
  await stage.untilRules(/"shop\/web:http global c1"/);
  await moveTo("eu-west");
  await stage.untilRules(/"shop\/web:http regional c1"/);
  await stage.plane.admin.apply(property("c1"));
  await stage.untilRules(/"shop\/web:http local c1"/);
  assert.equal((await stage.agent.stop()).code, 0);
});

test("plan and render read once, and change nothing", async () => {
  const kubeconfig = stage.plane.kubeconfig({ user: AGENT });
  const argv = ["--kubeconfig", kubeconfig, "--node-name", "n1"];
  const before = await stage.rules();
  const plan = await stage.node.exec([PROGRAM, "plan", ...argv]);
  assert.match(plan, /"tier": ?"local"/);
  assert.match(await stage.node.exec([PROGRAM, "render", ...argv]), /shop\/web:http local c1/);
  assert.equal(await stage.rules(), before);
});

test("plan without any rights reports the reason, in bounded time", {
  timeout: 60_000,
}, async () => {
  await stage.forbid();
  const kubeconfig = stage.plane.kubeconfig({ user: AGENT });
  const { code, stdout, stderr } = await stage.node.run([
    ...[PROGRAM, "plan", "--kubeconfig", kubeconfig, "--node-name", "n1"],
  ]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /CSP_API_REQUEST/);
  assert.match(stderr, /serviceimports: forbidden/);
  await stage.allow();
});

/** The output of `plan` in a pod that has this token, and no other reference to the API server. */
async function planWith(token: string) {
  const { directory, url } = stage.plane;
  const file = `${directory}/pod.token`;
  writeFileSync(file, token);
  const { hostname, port } = new URL(url);
  return stage.node.run([
    ...["env", `KUBERNETES_SERVICE_HOST=${hostname}`, `KUBERNETES_SERVICE_PORT=${port}`],
    ...["CLUSTERSET_AGENT_NODE_NAME=n1", "unshare", "--mount", "sh", "-c", AS_POD, "sh"],
    ...[file, apiServerFiles(directory).ca, PROGRAM, "plan"],
  ]);
}

test("in a pod the agent uses its cluster's API server and the pod's service account", {
  timeout: 60_000,
}, async () => {
  stage.plane.kubeconfig({ user: AGENT });
  const { code, stdout, stderr } = await planWith(
    readFileSync(`${stage.plane.directory}/${AGENT}.token`, "utf8"),
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /shop\/web/);
  const refused = await planWith("nonsense");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /unauthorized/);
});
