import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/agent-process.ts";
import { ControllerStage } from "./controller-stage.ts";
import { EndpointHistory } from "./endpoint-history.ts";
import { Kubelets } from "./kubelets.ts";

/** Longer than the 30 s for which anything is ever held back. */
const PATIENCE_MS = 40_000;
/** How long nodes may be silent. By default it is 50 s (--node-monitor-grace-period): all the rest is as it is there. */
const GRACE_MS = 4_000;
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
const NAMES = ["api", "db", "web"];
const PODS = 2;
const READY = "ready ready";
const HELD = "serving serving";
const GOING = "terminating terminating";
const DEAD = "dead dead";

let stage: ControllerStage;
let kubelets: Kubelets;
/** What the slices of kube-controller-manager say in cluster a. */
let truth: EndpointHistory;
/** What cluster b has imported. */
let imported: EndpointHistory;

before(async () => {
  const flags = {
    "leader-elect": true,
    "node-monitor-grace-period": `${GRACE_MS}ms`,
    "node-monitor-period": "1s",
  };
  // A Lease so long that cluster a is never stale: whatever b says of its endpoints, a has said.
  stage = await ControllerStage.open({
    clusters: ["a", "b"],
    controllerManagers: { a: flags },
    leaseDuration: "60s",
  });
  const { a, b } = clusters();
  kubelets = new Kubelets(a.plane.admin, ["n1", "n2"]);
  kubelets.start();
  for (const { plane } of [a, b]) {
    await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  }
  truth = new EndpointHistory(a.plane, "shop", "kubernetes.io/service-name");
  imported = new EndpointHistory(b.plane, "shop", "multicluster.kubernetes.io/service-name");
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
  await until(imported, all(READY));
});
after(async () => {
  await kubelets?.silence();
  await stage?.[Symbol.asyncDispose]();
});

function clusters() {
  return { a: stage.cluster("a"), b: stage.cluster("b") };
}

/** Waits until it says this of the endpoints of these Services. */
async function until(
  history: EndpointHistory,
  words: Readonly<Record<string, string>>,
): Promise<void> {
  await eventually(() => {
    const found = Object.keys(words).map((name) => [name, history.now(name)]);
    assert.deepEqual(Object.fromEntries(found), words, clusters().a.log);
  }, PATIENCE_MS);
}

/** The same of each Service. */
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
 * The control plane of cluster a, etcd included, stands still for as long as it takes its controller to notice that,
 * and goes on. It finds that nothing was heard of any node, and none of them is heard before `kubelets.start`.
 */
async function outage(): Promise<void> {
  const { a } = clusters();
  const since = a.log.length;
  await kubelets.silence();
  a.plane.freeze();
  await sleep(GRACE_MS);
  await eventually(() => assert.match(a.log.slice(since), /is not heard/), PATIENCE_MS);
  a.plane.thaw();
  await until(truth, all(DEAD));
}

test("in calm times, all that are unready at once are so at once, and all that are deleted are gone at once", async () => {
  imported.forget();
  kubelets.arePodsReady = false;
  await until(imported, all(DEAD));
  const seen = NAMES.map((name) => imported.ever(name));
  // On a machine so slow that the API server did not answer for seconds, times are not calm.
  const isCalm = !clusters().a.log.includes("is not heard");
  if (isCalm) assert.deepEqual(seen, Array(NAMES.length).fill(["dead", "ready"]));
  kubelets.arePodsReady = true;
  await until(imported, all(READY));
  imported.forget();
  await scale(NAMES, 0);
  await until(imported, all(""));
  for (const name of NAMES) assert.ok(!imported.ever(name).includes("serving"), name);
  await scale(NAMES, PODS);
  await until(imported, all(READY));
});

test("of a control plane that stood still, and finds no node alive, all endpoints serve until they are ready again", async () => {
  const { a } = clusters();
  const since = a.log.length;
  imported.forget();
  await outage();
  await until(imported, all(HELD));
  const log = a.log.slice(since);
  // Only an election can have told that soon: a Lease of 15 s does not.
  assert.match(log, /"reason":"stalled","msg":"Our own cluster is not heard/);
  assert.match(log, /"services":3,.*held back/);
  assert.match(await a.page("/metrics"), /^clusterset_controller_endpoints_held_back 6$/m);
  kubelets.start();
  await until(imported, all(READY));
  for (const name of NAMES) assert.deepEqual(imported.ever(name), ["ready", "serving"], name);
});

test("Deployments that are scaled to nothing are gone at once, though all else is held back", async () => {
  const { admin } = clusters().a.plane;
  await outage();
  await until(imported, all(HELD));
  await scale(["api", "web"], 0);
  await until(imported, { api: GOING, web: GOING, db: HELD });
  // No kubelet hears of it, but whoever deletes them by force is believed, too.
  for (const name of ["api", "web"]) {
    const query = { labelSelector: `app=${name}`, gracePeriodSeconds: "0" };
    await admin.request("DELETE", "/api/v1/namespaces/shop/pods", { query });
  }
  await until(imported, { api: "", web: "", db: HELD });
  kubelets.start();
  await until(imported, { api: "", web: "", db: READY });
  await scale(["db"], 0);
  await until(imported, all(""));
});
