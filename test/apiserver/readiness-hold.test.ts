import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage } from "./controller-stage.ts";
import { EndpointHistory, type EndpointWord } from "./endpoint-history.ts";
import { Kubelets } from "./kubelets.ts";

/** Longer than the 30 s for which anything is ever held back. */
const PATIENCE_MS = 40_000;
/** How long nodes may be silent. By default it is 50 s (--node-monitor-grace-period): all the rest is as it is there. */
const GRACE_MS = 4_000;
/** Shorter than the 2 s for which one endpoint is held back alone: all that become unready within them are held back together. */
const TOGETHER_MS = 1_000;
/** Shorter than the 30 s after contact was regained, which is before all endpoints are known to be unready. */
const WINDOW_MS = 20_000;
/** How often a round is tried during which the API server has to answer. */
const ROUNDS = 5;
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
  // A Lease so long that cluster a is never stale: b's state of its endpoints is a's.
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

/** Waits until the endpoints of these Services have this state. */
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
  await until(truth, all(DEAD));
}

/** True if cluster a's controller has contact with its control plane. */
function hasContact(): boolean {
  const lines = clusters().a.log.split("\n");
  const last = (event: RegExp) => lines.findLastIndex((line) => event.test(line));
  return last(LOST_CONTACT) <= last(REGAINED_CONTACT);
}

/**
 * Lets all endpoints become unready, and then deletes them, together. Gives what cluster b said of them on the way, or undefined if
 * cluster a lost contact with its control plane meanwhile: then readiness is held back, as it should be.
 */
async function dropsTogether(): Promise<EndpointWord[][] | undefined> {
  const { a } = clusters();
  const since = a.log.length;
  imported.forget();
  kubelets.arePodsReady = false;
  await until(imported, all(DEAD));
  const unready = NAMES.map((name) => imported.ever(name));
  kubelets.arePodsReady = true;
  await until(imported, all(READY));
  imported.forget();
  await scale(NAMES, 0);
  await until(imported, all(""));
  const deleted = NAMES.map((name) => imported.ever(name));
  await scale(NAMES, PODS);
  await until(imported, all(READY));
  return LOST_CONTACT.test(a.log.slice(since)) ? undefined : [...unready, ...deleted];
}

test("while the control plane responds, endpoints that become unready or are deleted together are not held", async (t) => {
  for (let round = 1; round <= ROUNDS; round++) {
    const said = await dropsTogether();
    if (said === undefined) {
      t.diagnostic(
        `round ${round}: the API server did not answer for seconds, so nothing is known`,
      );
      continue;
    }
    assert.deepEqual(said.slice(0, NAMES.length), Array(NAMES.length).fill(["dead", "ready"]));
    assert.ok(!said.flat().includes("serving"), JSON.stringify(said));
    return;
  }
  assert.fail(`the API server stood still in each of ${ROUNDS} rounds: this machine is too busy`);
});

/**
 * An outage, after which no node is ready for a while. Gives what cluster b said of the endpoints of each Service on the way, and
 * whether the control plane reported all of that while it is held back.
 */
async function outageWithoutNodes(): Promise<{ said: EndpointWord[][]; isInTime: boolean }> {
  const { a } = clusters();
  const since = a.log.length;
  imported.forget();
  await outage();
  const back = performance.now();
  const wasTogether = truth.spread() < TOGETHER_MS;
  await until(imported, all(HELD));
  const log = a.log.slice(since);
  // Only an election can show that so soon: a Lease takes 15 s.
  assert.match(log, LOST_CONTACT);
  assert.match(log, /"reason":"stalled"/);
  assert.match(log, /"services":3,.*holding back/);
  assert.match(await a.page("/metrics"), /^clusterset_controller_endpoints_held_back 6$/m);
  kubelets.start();
  await until(imported, all(READY));
  const isInTime = wasTogether && performance.now() - back < WINDOW_MS;
  return { said: NAMES.map((name) => imported.ever(name)), isInTime };
}

test("after a control plane was stopped and finds no node ready, all endpoints serve until they are ready again", async (t) => {
  const expected = Array(NAMES.length).fill(["ready", "serving"]);
  for (let round = 1; round <= ROUNDS; round++) {
    const { said, isInTime } = await outageWithoutNodes();
    if (isInTime) assert.deepEqual(said, expected);
    if (isDeepStrictEqual(said, expected)) return;
    t.diagnostic(`round ${round}: the control plane took too long to report its nodes`);
  }
  assert.fail(`slow in each of ${ROUNDS} rounds: this machine is too busy`);
});

test("endpoints of Deployments that are scaled to zero are deleted at once, although all others are held", async () => {
  const { admin } = clusters().a.plane;
  await outage();
  await until(imported, all(HELD));
  await scale(["api", "web"], 0);
  await until(imported, { api: GOING, web: GOING, db: HELD });
  // No kubelet confirms it, but a forced deletion also counts.
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
