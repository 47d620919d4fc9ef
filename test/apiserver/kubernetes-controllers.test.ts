import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExplainedImport } from "../../cli/view/explanation-text.ts";
import type { ContextStatus } from "../../cli/view/status.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import type { ApiObject } from "./api-client.ts";
import { ControllerStage, SLICE, type StagedCluster } from "./controller-stage.ts";
import { Kubelets } from "./kubelets.ts";
import { PodPorts } from "./pod-ports.ts";
import { readerRights } from "./rights.ts";
import { endpointsOf } from "./staged-cluster.ts";

// Beside Kubernetes' own controllers in c1: slices of ClusterIP failover, and what is held back after an outage of its control plane.

const KEY = "shop/web";
const ASK = "clusterset-proxy.io/cluster-ip-failover";
const SELECTOR = "endpointslice.kubernetes.io/managed-by=cluster-ip-failover.clusterset-proxy.io";
const SERVICE = { apiVersion: "v1", kind: "Service" };
const METADATA = { namespace: "shop", name: "web" };
const LEAVING = { ready: false, serving: true, terminating: true };

/** Longer than the 30 s for which anything is ever held back. */
const PATIENCE_MS = 40_000;
/** How long nodes may be silent. By default it is 50 s (--node-monitor-grace-period): all the rest is as it is there. */
const GRACE_MS = 4_000;
/** What c1 logs when its API server or kube-controller-manager stops responding, and when both respond again. */
const LOST_CONTACT = /Lost contact with the local control plane/;
const REGAINED_CONTACT = /Regained contact with the local control plane/;
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
const NAMES = ["api", "db", "web"];
const HELD_BACK = "held-back";
const PODS = 2;
const READY = "ready ready";
const HELD = "serving serving";
const GOING = "terminating terminating";
const DEAD = "dead dead";

let mesh: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  const flags = {
    "leader-elect": true,
    "node-monitor-grace-period": `${GRACE_MS}ms`,
    "node-monitor-period": "1s",
  };
  mesh = await ControllerStage.open({
    clusters: ["c1", "c2"],
    controllerManagers: { c1: flags },
    users: ["reader"],
  });
  [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  await mesh.start();
});
after(() => mesh?.[Symbol.asyncDispose]());

// Failover slices on real API servers, with the rights that deploy/rbac grants, and Kubernetes' own controllers: those of
// EndpointSlices, which must leave them alone, and the garbage collector, which deletes them with their Service; and what a
// user with the rights of the guide, and no other, sees of them. The rest is proved in memory: controller/sync/failover*.test.ts.

describe("ClusterIP failover", () => {
  let user: CommandLine;
  let ports: PodPorts;
  before(async () => {
    await c1.serve("shop/alone", ["10.1.0.8"]);
    await c1.serve(KEY, ["10.1.0.7"]);
    await c2.offer(KEY, "10.2.0.7");
    // Only a Service with a selector has a controller of Kubernetes that writes its slices.
    await c1.plane.admin.patch(
      { ...SERVICE, metadata: METADATA },
      { spec: { selector: { app: "web" } } },
    );
    await c1.untilImported(KEY, ["10.2.0.7"]);
    ports = await PodPorts.start(c1.plane);
    await ports.pod("controller", "controller-1", c1.pagesPort);
    for (const object of readerRights("reader")) await c1.plane.admin.apply(object);
    user = new CommandLine({ one: c1.plane.inlineKubeconfig({ user: "reader" }) });
  });
  after(async () => {
    // Endpoints that stay ready in an outage would count against one.
    for (const key of [KEY, "shop/alone"]) await c1.endpoints(key, []);
    user?.[Symbol.dispose]();
    await ports?.[Symbol.asyncDispose]();
  });

  /** Annotates a Service or Namespace of c1; null: it has none. */
  async function ask(value: string | null, name: string, kind = "Service"): Promise<void> {
    const metadata = kind === "Service" ? { namespace: "shop", name } : { name };
    const annotations = { [ASK]: value };
    await c1.plane.admin.patch({ apiVersion: "v1", kind, metadata }, { metadata: { annotations } });
  }

  /** Waits until the Service of c1 fails over to just these addresses. */
  async function untilAt(...addresses: string[]): Promise<ApiObject[]> {
    return eventually(async () => {
      const slices = await c1.list(SLICE, "shop", SELECTOR);
      const found = endpointsOf(slices).flatMap((one) => one.addresses);
      assert.deepEqual(found.sort(), addresses, c1.log);
      return slices;
    }, 60_000);
  }

  /** Lines of the head of an explanation that are about the ClusterIP, once they match. */
  function untilExplained(key: string, clusterIp: RegExp, failover: RegExp): Promise<number> {
    return eventually(async () => {
      const { code, out, note } = await user.run("explain", key);
      assert.match(out, new RegExp(`^ClusterIP: +10\\.\\S+, ${clusterIp.source}$`, "m"), note);
      assert.match(out, new RegExp(`^Failover: +${failover.source}$`, "m"));
      return code;
    }, 30_000);
  }

  async function status(...argv: readonly string[]) {
    const { out, note } = await user.run("status", "-o", "json", ...argv);
    assert.notEqual(out, "", note);
    const [context] = (JSON.parse(out) as { contexts: ContextStatus[] }).contexts;
    assert.ok(context);
    assert.deepEqual(context.unread, [], "the guide's rights are enough");
    const problems = context.problems.filter(({ object }) => object.startsWith("Service "));
    return {
      failover: context.failover,
      problems: problems.map(({ object, reason }) => [object, reason]),
    };
  }

  test("a Service that asks gets slices with the rights of deploy/rbac, and they follow the export; explain says what is prepared, and what the ClusterIP uses", async () => {
    await untilExplained(KEY, /uses 1 local endpoint/, /not requested/);
    assert.deepEqual(await status(), { failover: undefined, problems: [] });
    await ask("true", "web");
    await untilAt("10.2.0.7");
    await c2.endpoints(KEY, ["10.2.0.7", "10.2.0.8"]);
    const slices = await untilAt("10.2.0.7", "10.2.0.8");
    const service = await c1.find(SERVICE, KEY);
    for (const slice of slices) {
      assert.deepEqual(slice.metadata.ownerReferences, [
        { apiVersion: "v1", kind: "Service", name: "web", uid: service?.metadata.uid },
      ]);
      assert.deepEqual(slice.ports, [{ name: "http", port: 8080, protocol: "TCP" }]);
    }
    for (const { conditions } of endpointsOf(slices)) assert.deepEqual(conditions, LEAVING);
    const prepared =
      /requested by the Service; prepared \(failover-prepared\): 2 ready IPv4 endpoints of c2/;
    await untilExplained(KEY, /uses 1 local endpoint/, prepared);
    await c1.endpoints(KEY, []);
    const code = await untilExplained(KEY, /uses 2 endpoints of c2/, prepared);
    // Without agents, the import alone is a warning, too.
    assert.equal(code, 3);
    const { out } = await user.run("explain", KEY, "-o", "json");
    const [found] = (JSON.parse(out) as { contexts: ExplainedImport[] }).contexts;
    const { prepared: listed, severity, uses, unread } = found?.clusterIp ?? {};
    assert.deepEqual(listed, [{ cluster: "c2", family: "IPv4", endpoints: 2, ready: 2 }]);
    assert.deepEqual(uses?.[0]?.clusters, [{ cluster: "c2", endpoints: 2 }]);
    assert.deepEqual([severity, unread], ["warning", []]);
    await c1.endpoints(KEY, ["10.1.0.7"]);
    await c2.endpoints(KEY, ["10.2.0.7", "10.2.0.8"], false);
    await untilAt();
    await c2.endpoints(KEY, ["10.2.0.7"]);
    await untilAt("10.2.0.7");
  });

  test("requested by the Namespace: a Service without an import is explained, and listed by status as a problem", async () => {
    await ask("true", "shop", "Namespace");
    const failover =
      /requested by the Namespace; not prepared \(not-exported-elsewhere\): No other cluster exports the Service/;
    assert.equal(await untilExplained("shop/alone", /uses 1 local endpoint/, failover), 3);
    assert.deepEqual(await status(), {
      failover: { requested: 2, prepared: 1 },
      problems: [["Service shop/alone", "not-exported-elsewhere"]],
    });
    assert.deepEqual((await status("-n", "default")).problems, []);
    const { code, out } = await user.run("status");
    assert.match(out, /^one +1 .* 1\/2$/m);
    assert.match(out, /^one +Service shop\/alone +not-exported-elsewhere +ClusterIP failover /m);
    assert.equal(code, 3);
    await ask("false", "alone");
    await eventually(async () => assert.deepEqual((await status()).problems, []), 30_000);
    await untilExplained("shop/alone", /uses 1 local endpoint/, /declined by the Service/);
  });

  test("Kubernetes deletes the slices with their Service, and a new Service of the name gets its own", async () => {
    const [old] = await untilAt("10.2.0.7");
    await c1.plane.admin.delete({ ...SERVICE, metadata: METADATA });
    await untilAt();
    await c1.serve(KEY, ["10.1.0.7"]);
    const [slice] = await untilAt("10.2.0.7");
    assert.notDeepEqual(slice?.metadata.ownerReferences, old?.metadata.ownerReferences);
  });
});

// After an outage of a control plane. controller/liveness/readiness-hold.test.ts proves in memory the endpoints that are held
// back, and those that are not.
describe("readiness after an outage", () => {
  let kubelets: Kubelets;

  before(async () => {
    kubelets = new Kubelets(c1.plane.admin, ["k1", "k2"]);
    kubelets.start();
    for (const cluster of [c1, c2]) await cluster.namespace(HELD_BACK);
    for (const name of NAMES) {
      const [metadata, labels] = [{ namespace: HELD_BACK, name }, { app: name }];
      const template = { metadata: { labels }, spec: { containers: [{ name, image: name }] } };
      const spec = { selector: { matchLabels: labels }, template, replicas: PODS };
      await c1.plane.admin.create({ ...DEPLOYMENT, metadata, spec });
      const ports = [{ name: "http", port: 80 }];
      const service = { apiVersion: "v1", kind: "Service", metadata };
      await c1.plane.admin.create({ ...service, spec: { selector: labels, ports } });
      await c1.export(`${HELD_BACK}/${name}`);
    }
    await untilImported(all(READY));
  });
  after(() => kubelets?.silence());

  /** States of the endpoints in slices that a label assigns to a Service: `ready ready`. */
  async function statesOf(cluster: StagedCluster, label: string, service: string): Promise<string> {
    const slices = await cluster.list(SLICE, HELD_BACK, `${label}=${service}`);
    return endpointsOf(slices)
      .map(({ conditions: { ready, serving, terminating } }) => {
        if (terminating === true) return "terminating";
        if (ready === true) return "ready";
        return serving === true ? "serving" : "dead";
      })
      .join(" ");
  }

  /** Waits until c2 has imported the endpoints of these Services in these states. */
  function untilImported(states: Readonly<Record<string, string>>): Promise<void> {
    return until(c2, "multicluster.kubernetes.io/service-name", states);
  }

  async function until(
    cluster: StagedCluster,
    label: string,
    states: Readonly<Record<string, string>>,
  ): Promise<void> {
    await eventually(async () => {
      const found: Record<string, string> = {};
      for (const name of Object.keys(states)) found[name] = await statesOf(cluster, label, name);
      assert.deepEqual(found, states, c1.log);
    }, PATIENCE_MS);
  }

  /** These states of each Service. */
  function all(words: string): Record<string, string> {
    return Object.fromEntries(NAMES.map((name) => [name, words]));
  }

  async function scale(names: readonly string[], replicas: number): Promise<void> {
    for (const name of names) {
      const deployment = { ...DEPLOYMENT, metadata: { namespace: HELD_BACK, name } };
      await c1.plane.admin.patch(deployment, { spec: { replicas } });
    }
  }

  /**
   * Stops the control plane of c1, etcd included, until its controller has lost contact with it, and continues it. No node has sent a
   * heartbeat by then, and none does before `kubelets.start`.
   */
  async function outage(): Promise<void> {
    // A loss is logged once: not again before contact was regained.
    await eventually(() => assert.ok(hasContact(), "contact has not been regained"), PATIENCE_MS);
    const since = c1.log.length;
    await kubelets.silence();
    c1.plane.freeze();
    await sleep(GRACE_MS);
    await eventually(() => assert.match(c1.log.slice(since), LOST_CONTACT), PATIENCE_MS);
    c1.plane.thaw();
    await until(c1, "kubernetes.io/service-name", all(DEAD));
  }

  /** True if c1's controller has contact with its control plane. */
  function hasContact(): boolean {
    const lines = c1.log.split("\n");
    const last = (event: RegExp) => lines.findLastIndex((line) => event.test(line));
    return last(LOST_CONTACT) <= last(REGAINED_CONTACT);
  }

  test("after a control plane was stopped and finds no node ready, all endpoints serve until they are ready again", async () => {
    const since = c1.log.length;
    await outage();
    await untilImported(all(HELD));
    const log = c1.log.slice(since);
    // Only an election can show that so soon: a Lease takes 15 s.
    assert.match(log, /"reason":"stalled"/);
    // Said once, of those whose slices had arrived by then.
    assert.match(log, /"reason":"held-back",.*holding back/);
    assert.match(await c1.page("/metrics"), /^clusterset_controller_endpoints_held_back 6$/m);
    kubelets.start();
    await untilImported(all(READY));
  });

  test("endpoints of Deployments that are scaled to zero are deleted at once, although all others are held", async () => {
    const { admin } = c1.plane;
    await outage();
    await untilImported(all(HELD));
    await scale(["api", "web"], 0);
    await untilImported({ api: GOING, web: GOING, db: HELD });
    // No kubelet confirms it, but a forced deletion also counts.
    for (const name of ["api", "web"]) {
      const query = { labelSelector: `app=${name}`, gracePeriodSeconds: "0" };
      await admin.request("DELETE", `/api/v1/namespaces/${HELD_BACK}/pods`, { query });
    }
    await untilImported({ api: "", web: "", db: HELD });
    kubelets.start();
    await untilImported({ api: "", web: "", db: READY });
    await scale(["db"], 0);
    await untilImported(all(""));
  });
});
