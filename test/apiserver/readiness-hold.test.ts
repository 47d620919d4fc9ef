import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage, SLICE, type StagedCluster } from "./controller-stage.ts";
import { Kubelets } from "./kubelets.ts";
import { endpointsOf } from "./staged-cluster.ts";

// Kubernetes' own controllers after an outage of a control plane. controller/liveness/readiness-hold.test.ts proves in memory the endpoints that are held
// back, and those that are not.

/** Longer than the 30 s for which anything is ever held back. */
const PATIENCE_MS = 40_000;
/** How long nodes may be silent. By default it is 50 s (--node-monitor-grace-period): all the rest is as it is there. */
const GRACE_MS = 4_000;
/** What cluster a logs when its API server or kube-controller-manager stops responding, and when both respond again. */
const LOST_CONTACT = /Lost contact with the local control plane/;
const REGAINED_CONTACT = /Regained contact with the local control plane/;
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
const NAMES = ["api", "db", "web"];
const PODS = 2;
const READY = "ready ready";
const HELD = "serving serving";
const GOING = "terminating terminating";
const DEAD = "dead dead";

let stage: ControllerStage;
let kubelets: Kubelets;

before(async () => {
  const flags = {
    "leader-elect": true,
    "node-monitor-grace-period": `${GRACE_MS}ms`,
    "node-monitor-period": "1s",
  };
  stage = await ControllerStage.open({
    clusters: ["a", "b"],
    controllerManagers: { a: flags },
  });
  const { a, b } = clusters();
  kubelets = new Kubelets(a.plane.admin, ["n1", "n2"]);
  kubelets.start();
  for (const { plane } of [a, b]) {
    await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  }
  for (const name of NAMES) {
    const [metadata, labels] = [{ namespace: "shop", name }, { app: name }];
    const template = { metadata: { labels }, spec: { containers: [{ name, image: name }] } };
    const spec = { selector: { matchLabels: labels }, template, replicas: PODS };
    await a.plane.admin.create({ ...DEPLOYMENT, metadata, spec });
    const ports = [{ name: "http", port: 80 }];
    const service = { apiVersion: "v1", kind: "Service", metadata };
    await a.plane.admin.create({ ...service, spec: { selector: labels, ports } });
    await a.export(`shop/${name}`);
  }
  await stage.start();
  await untilImported(all(READY));
});
after(async () => {
  await kubelets?.silence();
  await stage?.[Symbol.asyncDispose]();
});

function clusters() {
  return { a: stage.cluster("a"), b: stage.cluster("b") };
}

/** States of the endpoints in slices that a label assigns to a Service: `ready ready`. */
async function statesOf(cluster: StagedCluster, label: string, service: string): Promise<string> {
  const slices = await cluster.list(SLICE, "shop", `${label}=${service}`);
  return endpointsOf(slices)
    .map(({ conditions: { ready, serving, terminating } }) => {
      if (terminating === true) return "terminating";
      if (ready === true) return "ready";
      return serving === true ? "serving" : "dead";
    })
    .join(" ");
}

/** Waits until cluster b has imported the endpoints of these Services in these states. */
function untilImported(states: Readonly<Record<string, string>>): Promise<void> {
  return until(clusters().b, "multicluster.kubernetes.io/service-name", states);
}

async function until(
  cluster: StagedCluster,
  label: string,
  states: Readonly<Record<string, string>>,
): Promise<void> {
  await eventually(async () => {
    const found: Record<string, string> = {};
    for (const name of Object.keys(states)) found[name] = await statesOf(cluster, label, name);
    assert.deepEqual(found, states, clusters().a.log);
  }, PATIENCE_MS);
}

/** These states of each Service. */
function all(words: string): Record<string, string> {
  return Object.fromEntries(NAMES.map((name) => [name, words]));
}

async function scale(names: readonly string[], replicas: number): Promise<void> {
  for (const name of names) {
    const deployment = { ...DEPLOYMENT, metadata: { namespace: "shop", name } };
    await clusters().a.plane.admin.patch(deployment, { spec: { replicas } });
  }
}

/**
 * Stops the control plane of cluster a, etcd included, until its controller has lost contact with it, and continues it. No node has sent a
 * heartbeat by then, and none does before `kubelets.start`.
 */
async function outage(): Promise<void> {
  const { a } = clusters();
  // A loss is logged once: not again before contact was regained.
  await eventually(() => assert.ok(hasContact(), "contact has not been regained"), PATIENCE_MS);
  const since = a.log.length;
  await kubelets.silence();
  a.plane.freeze();
  await sleep(GRACE_MS);
  await eventually(() => assert.match(a.log.slice(since), LOST_CONTACT), PATIENCE_MS);
  a.plane.thaw();
  await until(a, "kubernetes.io/service-name", all(DEAD));
}

/** True if cluster a's controller has contact with its control plane. */
function hasContact(): boolean {
  const lines = clusters().a.log.split("\n");
  const last = (event: RegExp) => lines.findLastIndex((line) => event.test(line));
  return last(LOST_CONTACT) <= last(REGAINED_CONTACT);
}

test("after a control plane was stopped and finds no node ready, all endpoints serve until they are ready again", async () => {
  const { a } = clusters();
  const since = a.log.length;
  await outage();
  await untilImported(all(HELD));
  const log = a.log.slice(since);
  // Only an election can show that so soon: a Lease takes 15 s.
  assert.match(log, /"reason":"stalled"/);
  assert.match(log, /"services":3,.*holding back/);
  assert.match(await a.page("/metrics"), /^clusterset_controller_endpoints_held_back 6$/m);
  kubelets.start();
  await untilImported(all(READY));
});

test("endpoints of Deployments that are scaled to zero are deleted at once, although all others are held", async () => {
  const { admin } = clusters().a.plane;
  await outage();
  await untilImported(all(HELD));
  await scale(["api", "web"], 0);
  await untilImported({ api: GOING, web: GOING, db: HELD });
  // No kubelet confirms it, but a forced deletion also counts.
  for (const name of ["api", "web"]) {
    const query = { labelSelector: `app=${name}`, gracePeriodSeconds: "0" };
    await admin.request("DELETE", "/api/v1/namespaces/shop/pods", { query });
  }
  await untilImported({ api: "", web: "", db: HELD });
  kubelets.start();
  await untilImported({ api: "", web: "", db: READY });
  await scale(["db"], 0);
  await untilImported(all(""));
});
