import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { HeldPort } from "../../agent/backends/backend.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { NodeCheck } from "../../api/agent-page.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { agentFacts, modelOf, nodeFactOf } from "../../cli/agents/facts.ts";
import { agentSettings } from "../../cli/agents/objects.ts";
import type { Explanation } from "../../cli/view/explanation.ts";
import { isUsage } from "../../common/config/usage.ts";
import { importObject, manifest, sliceObject } from "../generators/objects.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControlPlane } from "./control-plane.ts";
import { clusterProperty } from "./crds.ts";
import { agentPages, PodPorts } from "./pod-ports.ts";

const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const TARGETS = [{ name: "http", port: 8080, protocol: "TCP" }];
const VIP = "241.0.0.1";
const IMPORT = importObject("shop/web", [VIP], PORTS);

const RECORD = "clusterset-proxy.io/drill-replicas";
const WEB = manifest("Deployment", "shop/web");
const PODS = manifest("Pod", "shop/any");
const FLAGS = ["--yes", "--image", "caller:1", "--timeout", "2s", "--settle", "1s"];

let plane: ControlPlane;
let user: CommandLine;
let ports: PodPorts;
/** What the agent of n1 has planned, and its kernel holds. */
let plan: ImportPlan | undefined;
let held: readonly HeldPort[] = [];
/** What its page of checks says of its health. */
let health: readonly NodeCheck[] = [];

before(async () => {
  plane = await ControlPlane.start({ controllerManager: { controllers: "serviceaccount" } });
  await plane.installCrds();
  const { admin } = plane;
  for (const name of ["shop", "clusterset-proxy"]) await admin.apply(manifest("Namespace", name));
  await admin.apply(clusterProperty("cluster.clusterset.k8s.io", "c1"));
  for (const name of ["web", "bare"]) {
    await admin.apply({
      ...manifest("Service", `shop/${name}`),
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    });
  }
  const labels = { app: "web" };
  const containers = [{ name: "web", image: "web:1" }];
  const template = { metadata: { labels }, spec: { containers } };
  await admin.apply({ ...WEB, spec: { replicas: 3, selector: { matchLabels: labels }, template } });
  await admin.apply(IMPORT);
  await slices(["10.1.0.1"], ["10.2.0.1", "10.2.0.2"]);
  ports = await PodPorts.start(plane);
  const planned = { plan: () => plan, held: async () => held };
  await ports.agent(agentPages({ agent: planned, remarks: () => health }));
  user = new CommandLine({ one: plane.inlineKubeconfig() });
});
after(async () => {
  user?.[Symbol.dispose]();
  await ports?.[Symbol.asyncDispose]();
  await plane?.remove();
});

type Endpoints = readonly (string | object)[];

/** The slices of both clusters; the agent has planned the same, and the kernel holds it. */
async function slices(c1: Endpoints, c2: Endpoints): Promise<void> {
  const all = [
    sliceObject("web-c1", "shop/web", { cluster: "c1", region: "eu" }, TARGETS, c1),
    sliceObject("web-c2", "shop/web", { cluster: "c2", region: "us" }, TARGETS, c2),
  ];
  for (const one of all) await plane.admin.apply(one);
  const settings = agentSettings([]);
  assert.ok(!isUsage(settings));
  const properties = [clusterProperty("cluster.clusterset.k8s.io", "c1")];
  const objects = { imports: [IMPORT], slices: all, properties, holders: [], nodes: [] };
  const facts = agentFacts(objects, settings.config);
  const node = nodeFactOf("n1", facts, settings.config);
  const view = modelOf(facts, settings.config).view("shop/web");
  assert.ok(view && !isUsage(node));
  plan = planImport(view, node);
  held = plan.services.map(({ protocol, port, endpoints }) => ({
    ...{ vip: VIP, protocol, port },
    destinations: endpoints.map((one) => `${one.address}:${one.port}`),
  }));
}

async function explained(...argv: readonly string[]) {
  const { code, out, note } = await user.run("explain", "-o", "json", ...argv);
  assert.notEqual(out, "", note);
  const [found] = (JSON.parse(out) as { contexts: Explanation[] }).contexts;
  assert.ok(found);
  const rows = found.ports.flatMap(({ endpoints }) =>
    endpoints.map(({ tier, endpoint, share, reason }) => `${tier} ${endpoint} ${share} ${reason}`),
  );
  return { code, found, rows };
}

test("tier by tier: who gets connections and why, and why the others do not", async () => {
  const { code, found, rows } = await explained("shop/web");
  assert.deepEqual(rows, [
    "local 10.1.0.1:8080 1 nearest-ready",
    "global 10.2.0.1:8080 0 farther-tier",
    "global 10.2.0.2:8080 0 farther-tier",
  ]);
  assert.deepEqual([found.node, found.agent.state, found.kernel.state], ["n1", "same", "same"]);
  assert.equal(code, 0);
});

test("a farther tier is a warning with the reason of the nearer endpoint, no endpoint a fault", async () => {
  const unready = { addresses: ["10.1.0.1"], conditions: { ready: false } };
  await slices([unready], ["10.2.0.1", "10.2.0.2"]);
  const farther = await explained("shop/web:http");
  assert.deepEqual(farther.rows, [
    "local 10.1.0.1:8080 0 not-ready",
    "global 10.2.0.1:8080 0.5 nearest-ready",
    "global 10.2.0.2:8080 0.5 nearest-ready",
  ]);
  assert.equal(farther.code, 3);
  await slices([unready], []);
  const rejected = await explained("shop/web:80");
  assert.deepEqual([rejected.code, rejected.found.ports[0]?.reason], [4, "no-endpoint"]);
  await slices(["10.1.0.1"], ["10.2.0.1", "10.2.0.2"]);
  const text = (await user.run("explain", "shop/web", "--verbose")).out;
  assert.match(text, /^shop\/web:http TCP IPv4: local \(nearest-ready\)$/m);
  assert.match(text, /farther-tier +A nearer tier has an endpoint that can take the traffic\.$/m);
});

test("an agent that is behind, and a kernel with other rules, are named with what differs", async () => {
  const before = plan;
  await slices(["10.1.0.9"], ["10.2.0.1", "10.2.0.2"]);
  plan = before;
  const { code, found } = await explained("shop/web");
  assert.equal(code, 3);
  assert.deepEqual(found.agent.differences, [
    "shop/web:http TCP IPv4: the agent lacks 10.1.0.9:8080; the agent also has 10.1.0.1:8080",
  ]);
  assert.deepEqual(found.kernel.differences, [
    "241.0.0.1:80 TCP: the kernel lacks 10.1.0.1:8080; the kernel also has 10.1.0.9:8080",
  ]);
  await slices(["10.1.0.1"], ["10.2.0.1", "10.2.0.2"]);
});

test("a VIP is its import; another address is its owner's, or nobody's", async () => {
  assert.equal((await explained(VIP)).found.import, "shop/web");
  assert.equal((await explained(`${VIP}:80`)).found.import, "shop/web");
  const spec = { ports: [{ port: 80 }] };
  const service = await plane.admin.apply({ ...manifest("Service", "shop/plain"), spec });
  const clusterIP = String(fieldAt(service, "spec", "clusterIP"));
  const { code, note } = await user.run("explain", clusterIP);
  const owner = `error: one: no import has ${clusterIP}: it belongs to Service shop/plain\n`;
  assert.deepEqual([code, note], [1, owner]);
  assert.match((await user.run("explain", "192.0.2.9")).note, /nor any Service, Node, pod/);
});

test("what failure detection of the node does not see is a remark, and so is a failing check of preflight; what it has found is in the plan", async () => {
  const blind = "probes of this node do not reach c2; without them, detection takes up to 7 s";
  health = [
    { name: "health", state: "failing", reason: "blind", detail: blind },
    { name: "health", state: "failing", reason: "unanswering", detail: "10.2.0.1 of c2" },
    {
      ...{ name: "preflight-bridge-IPv4", state: "failing", reason: "bridge-unfiltered" },
      detail: "Pods on the bridge cni0 answer each other past netfilter",
    },
    {
      ...{ name: "preflight-invalid-IPv4", state: "unknown", reason: "invalid-accepted" },
      detail: "Nothing drops them",
    },
    { name: "preflight-route-IPv4", state: "ok" },
  ];
  const { out } = await user.run("explain", "shop/web");
  health = [{ name: "health", state: "ok" }];
  assert.deepEqual(out.match(/^Remark: .*$/gm), [
    "Remark:    Agent of n1: blind: probes of this node do not reach c2; without them, detection takes up to 7 s",
    "Remark:    Agent of n1: bridge-unfiltered: Pods on the bridge cni0 answer each other past netfilter",
  ]);
  assert.doesNotMatch((await user.run("explain", "shop/web")).out, /^Remark/m);
});

test("conflicts of exports and rejected writes are remarks, and what is unknown is an error that names it", async () => {
  const reference = manifest("ServiceExport", "shop/web");
  await plane.admin.apply(reference);
  const message = "type is taken from the oldest export, Headless of c2; 1/2 clusters disagree.";
  const conflict = { type: "Conflict", status: "True", reason: "TypeConflict", message };
  const ready = { type: "Ready", status: "False" };
  const rejected = { ...ready, reason: "WriteRejected", message: "refused: quota" };
  const lastTransitionTime = new Date().toISOString();
  for (const [kind, condition, remark] of [
    ["ServiceExport", conflict, /ServiceExport in one: TypeConflict, type is taken from .* of c2/],
    ["ServiceImport", rejected, /ServiceImport: WriteRejected, refused: quota$/],
  ] as const) {
    const status = { conditions: [{ ...condition, lastTransitionTime }] };
    await plane.admin.patch({ ...reference, kind }, { status }, "status");
    const { out } = await user.run("explain", "web", "-n", "shop");
    assert.match(out, new RegExp(`^Remark: +${remark.source}`, "m"));
  }
  for (const [argv, code, error] of [
    [["shop/none"], 1, /no ServiceImport shop\/none/],
    [["shop/web:81"], 1, /shop\/web has no port 81/],
    [["shop/web", "--from", "n9"], 2, /--from n9: there is no such Node/],
    [["shop/web", "--from", "shop/client"], 2, /there is no such pod/],
    [["shop/web/x"], 2, /expected NAMESPACE\/NAME/],
  ] as const) {
    const found = await user.run("explain", ...argv);
    assert.equal(found.code, code, found.note);
    assert.match(found.note, error);
  }
});

test("an agent that does not answer is said, and the explanation is that of the API server's objects", async () => {
  await ports.remove("agent-1");
  const { code, found, rows } = await explained("shop/web", "--from", "n1");
  assert.equal(code, 3);
  assert.deepEqual(found.agent.unread, { reason: "absent", detail: "the node has no agent" });
  assert.equal(rows.length, 3);
});

// What of a drill needs no kubelet; the drill itself is in test/e2e/drill.test.ts.

async function replicas() {
  const live = await plane.admin.find(WEB);
  return [fieldAt(live, "spec", "replicas"), fieldAt(live, "metadata", "annotations", RECORD)];
}

test("a drill that cannot be done changes nothing and says why", async () => {
  const why = async (...argv: string[]) => {
    const { code, note } = await user.run("drill", ...argv, ...FLAGS);
    assert.equal(code, 1);
    return note;
  };
  assert.match(await why("shop/none"), /no Service shop\/none/);
  assert.match(await why("shop/bare"), /no Deployment or StatefulSet/);
  await slices([], ["10.2.0.1"]);
  assert.match(await why("shop/web"), /do not go to this cluster, but to global c2 \(1\)/);
  await slices(["10.1.0.1"], []);
  assert.match(await why("shop/web", "--port", "81"), /no such TCP port/);
  assert.equal((await user.run("drill", "shop/web", "--rate", "1000")).code, 2);
  const asked = await user.run("drill", "shop/web", "--image", "caller:1");
  assert.deepEqual([asked.code, await replicas()], [1, [3, undefined]], "without a yes");
});

test("what an interrupted drill has left at nothing gets its replicas back, and a caller that does not start is deleted", async () => {
  const metadata = { annotations: { [RECORD]: "3" } };
  await plane.admin.patch(WEB, { metadata, spec: { replicas: 0 } });
  const { code, note } = await user.run("drill", "shop/web", ...FLAGS);
  assert.equal(code, 1);
  assert.match(note, /scaling back what an interrupted drill has left/);
  assert.match(note, /pod shop\/clusterset-drill-\S+ is Pending \(after 2 s\)/);
  assert.deepEqual(await replicas(), [3, undefined]);
  assert.deepEqual(await plane.admin.list(PODS), []);
});
