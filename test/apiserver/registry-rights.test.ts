import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { queries } from "../../agent/sources/kubernetes/queries.ts";
import { serviceCidrs } from "../../agent/sources/kubernetes/service-cidrs.ts";
import { TAINT_AGENT_NOT_READY } from "../../api/keys.ts";
import { textField } from "../../api/parse/fields.ts";
import { systemClock } from "../../common/clock.ts";
import * as kinds from "../../common/kubernetes/kinds.ts";
import { LEASES } from "../../common/lease/lease.ts";
import { taintsOf } from "../../controller/model/parse-node.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { changedTaints } from "../../controller/startup-taint/startup-taint.ts";
import * as resources from "../../controller/stores/resources.ts";
import { EventRecorder } from "../../controller/sync/event-recorder.ts";
import { exportRecord } from "../generators/export-records.ts";
import { eventually } from "../stages/agent-process.ts";
import { ControlPlane } from "./control-plane.ts";
import { EVERYWHERE, rightsIn } from "./rights.ts";
import { ServiceAccount } from "./service-account.ts";

// The rights of deploy/rbac on a real API server: with real tokens, by our own client. That they suffice for all writes of a controller, and for
// its election, each ControllerStage shows (controller.test.ts: no request was forbidden); that all are needed, test/unit/rights.test.ts.

const HOME = "clusterset-proxy";
const MEMBERS = "clusterset-members";
const OWN = registryNamespace("c1");
const OTHER = registryNamespace("c2");
const READER_RIGHTS = Object.values(resources.registryQueries(OWN)).flatMap(
  ({ group, resource }) => [`list ${group}/${resource}`, `watch ${group}/${resource}`],
);

/** What each of our service accounts reads, all of which an API server has to let it. */
const READ = {
  [`${HOME}/clusterset-agent`]: Object.values(queries("n1")),
  [`${HOME}/clusterset-controller`]: [
    ...Object.values({ ...resources.LOCAL_QUERIES, ...resources.registryQueries(OWN) }),
    ...[resources.NODES_QUERY, resources.SERVICE_CIDRS_QUERY],
    resources.CONTROLLERS_QUERY,
    resources.peersQuery(HOME),
  ],
  [`${OWN}/c3`]: Object.values(resources.registryQueries(OWN)),
  [`${MEMBERS}/c2`]: [resources.HUB_QUERY, ...Object.values(resources.registryQueries(OTHER))],
} as const;

let plane: ControlPlane;
/** Rights of every user with a token. */
let everybody: readonly string[];
before(async () => {
  // Of its controllers, the one that puts tokens into Secrets.
  plane = await ControlPlane.start({ controllerManager: true });
  await plane.installCrds();
  await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  // One API server is a cluster of a mesh, c1, whose peer is c3; and a hub of c1 and c2.
  const common = [...EVERYWHERE, "mesh/peers.yaml"];
  const objects = [
    ...rightsIn([...common, "hub/hub.yaml"]),
    ...rightsIn(["mesh/registry.yaml", "mesh/reader.yaml"], { cluster: "c1", peer: "c3" }),
    ...rightsIn(["mesh/registry.yaml", "mesh/reader.yaml"], { cluster: "c4", peer: "c3" }),
    ...rightsIn(["hub/cluster.yaml"], { cluster: "c2" }),
    ...rightsIn(["hub/cluster.yaml"], { cluster: "c5" }),
  ];
  for (const object of objects) await plane.admin.apply(object);
  await using nobody = await ServiceAccount.requested(plane, "default/default");
  everybody = await nobody.rights("default");
});
after(() => plane.remove());

/** What it may do in a namespace that not everybody may. */
async function beyond(account: ServiceAccount, namespace: string): Promise<string[]> {
  return (await account.rights(namespace)).filter((right) => !everybody.includes(right));
}

/** Everybody reads all that is to be read. */
async function readAll(): Promise<void> {
  for (const [account, all] of Object.entries(READ)) {
    await using reader = await ServiceAccount.requested(plane, account);
    for (const query of all) {
      assert.equal(await reader.follows(query), "watching", `${account} ${query.resource}`);
    }
  }
}

/** Each of these attempts is refused for want of a right. */
async function refused(...attempts: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const attempt of attempts) await assert.rejects(attempt(), { reason: "forbidden" });
}

/** The objects that a cluster publishes, in the registry of any cluster. */
function published(cluster: string, namespace: string) {
  const record = exportRecord({ cluster, key: "shop/web" });
  const endpoint = { address: "10.1.0.7", ready: true, serving: true, terminating: false };
  const key = `${namespace}/web.shop.v4-0` as const;
  const slice = { key, service: record.key, family: "IPv4", ports: record.ports } as const;
  const lease = {
    ...{ id: cluster, uid: "u", properties: {}, completeExcept: new Set<string>() },
    ...{ leaseSeconds: 30, renewal: "2026-01-01T00:00:00.000001Z" },
  };
  return [
    [kinds.SERVICE_IMPORTS, encodeRecord(record, namespace)],
    [kinds.ENDPOINT_SLICES, encodeSlice({ ...slice, endpoints: [endpoint] }, cluster)],
    [LEASES, encodeCluster(lease, namespace)],
  ] as const;
}

/** Publishes, changes, looks again after a conflict, and withdraws, as the controller does. */
async function publishes(
  { writer }: ServiceAccount,
  cluster: string,
  namespace: string,
): Promise<void> {
  for (const [resource, manifest] of published(cluster, namespace)) {
    const { meta } = await writer.apply(resource, manifest);
    const labels = { ...manifest.metadata.labels, changed: "yes" };
    const changed = { ...manifest, metadata: { ...manifest.metadata, labels } };
    const after = await writer.apply(resource, changed, { seen: meta });
    const late = writer.apply(resource, manifest, { seen: meta });
    await assert.rejects(late, { reason: "write-conflict" });
    assert.deepEqual((await writer.get(resource, manifest.metadata))?.meta, after.meta);
    // A Lease stays.
    if (resource !== LEASES) {
      assert.equal(await writer.delete(resource, manifest.metadata, after.meta), true);
    }
  }
}

test("in a mesh, a peer's token can read one registry, and has no other right", async () => {
  await using peer = await ServiceAccount.ofSecret(plane, `${OWN}/c3`);
  for (const query of Object.values(resources.registryQueries(OWN))) {
    assert.equal(await peer.follows(query), "watching", query.resource);
  }
  assert.deepEqual(await beyond(peer, OWN), READER_RIGHTS.toSorted());
  for (const namespace of [registryNamespace("c4"), OTHER, HOME, "kube-system", "shop"]) {
    assert.deepEqual(await beyond(peer, namespace), [], namespace);
    for (const query of Object.values(resources.registryQueries(namespace))) {
      assert.equal(await peer.follows(query), "forbidden", `${namespace} ${query.resource}`);
    }
  }
  assert.equal(await peer.follows(resources.HUB_QUERY), "forbidden");
  for (const [resource, manifest] of published("c1", OWN)) {
    await refused(() => peer.writer.apply(resource, manifest));
  }
});

test("a token is valid until its Secret is deleted", { timeout: 60_000 }, async () => {
  const secret = { apiVersion: "v1", kind: "Secret" };
  const reader = rightsIn(["mesh/reader.yaml"], { cluster: "c1", peer: "c9" });
  for (const object of reader) await plane.admin.apply(object);
  await using peer = await ServiceAccount.ofSecret(plane, `${OWN}/c9`);
  const query = resources.registryQueries(OWN).leases;
  assert.equal(await peer.follows(query), "watching");
  await plane.admin.delete({ ...secret, metadata: { namespace: OWN, name: "c9" } });
  // The API server remembers for ten seconds that a token was good.
  let reason = await peer.follows(query);
  while (reason === "watching") {
    await sleep(500);
    reason = await peer.follows(query);
  }
  assert.equal(reason, "unauthorized");
});

test("on a hub, a cluster's token can write its own registry and read the others, and has no other right", async () => {
  await using member = await ServiceAccount.ofSecret(plane, `${MEMBERS}/c2`);
  assert.equal(await member.follows(resources.HUB_QUERY), "watching");
  await publishes(member, "c2", OTHER);
  const another = registryNamespace("c5");
  for (const query of Object.values(resources.registryQueries(another))) {
    assert.equal(await member.follows(query), "watching", query.resource);
  }
  for (const [resource, manifest] of published("c5", another)) {
    await refused(() => member.writer.apply(resource, manifest));
  }
  const roster = ["list /namespaces", "watch /namespaces"];
  assert.deepEqual(await beyond(member, another), [...READER_RIGHTS, ...roster].sort());
  for (const namespace of [MEMBERS, HOME, "kube-system", "shop"]) {
    assert.deepEqual(await beyond(member, namespace), roster, namespace);
  }
  await refused(
    () => member.writer.apply(kinds.NAMESPACES, { metadata: { name: registryNamespace("c6") } }),
    () => member.writer.apply(kinds.NAMESPACES, { metadata: { name: OTHER } }),
  );
});

test("with the rights of the startup taint, the controller changes the taints of a Node with a precondition, and writes its Events", async () => {
  for (const object of rightsIn(["startup-taint/agents.yaml", "startup-taint/nodes.yaml"])) {
    await plane.admin.apply(object);
  }
  const other = { key: "example.com/gpu", effect: "NoSchedule" };
  const startup = { key: TAINT_AGENT_NOT_READY, effect: "NoSchedule" };
  const name = { name: "n1" };
  const node = { apiVersion: "v1", kind: "Node", metadata: name, spec: { taints: [startup] } };
  await plane.admin.apply(node);
  await using controller = await ServiceAccount.requested(plane, `${HOME}/clusterset-controller`);
  const { writer } = controller;
  assert.equal(await controller.follows(resources.agentPodsQuery(HOME)), "watching");
  // kube-controller-manager changes the Node, too: a conflict is tried again, as the controller does it.
  const change = (
    taintsFor: (all: ReturnType<typeof taintsOf>) => readonly unknown[] | undefined,
  ) =>
    eventually(async () => {
      const seen = await writer.get(kinds.NODES, name);
      const patch = { spec: { taints: taintsFor(taintsOf(seen?.object)) } };
      const before = seen?.meta ?? assert.fail();
      return { patch, before, ...(await writer.patch(kinds.NODES, name, patch, before)) };
    });
  const { before: first, meta, patch } = await change((all) => [...all, other]);
  const late = writer.patch(kinds.NODES, name, patch, first);
  await assert.rejects(late, { reason: "write-conflict" });
  const after = await change((all) => changedTaints(all, false));
  // The API server's own taint says that the Node is not ready.
  const isOwn = (one: unknown) => textField(one, "key")?.startsWith("node.kubernetes.io/") !== true;
  assert.deepEqual(taintsOf(after.object).filter(isOwn), [other]);
  const recorded = Promise.withResolvers<void>();
  const recorder = new EventRecorder({
    writer: {
      create: (...event) => {
        const created = writer.create(...event);
        created.then(() => recorded.resolve(), recorded.reject);
        return created;
      },
    },
    clock: systemClock,
    today: () => new Date(),
    events: { eventLost: () => {} },
  });
  const event = { level: "Warning", reason: "AgentLate", message: "late" } as const;
  recorder.record(kinds.NODES, { key: "/n1", uid: meta.uid }, [event]);
  await recorded.promise;
  await refused(() => writer.delete(kinds.NODES, name, after.meta));
});

test("the rights of agent, controller, peer and member suffice for all their reads", async () => {
  await readAll();
  await using agent = await ServiceAccount.requested(plane, `${HOME}/clusterset-agent`);
  const ranges = serviceCidrs(agent.api, systemClock);
  const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
  ranges.start(resolve);
  assert.notEqual((await promise).length, 0);
  await ranges.stop();
  await using controller = await ServiceAccount.requested(plane, `${HOME}/clusterset-controller`);
  assert.equal(await controller.follows(resources.peersQuery("kube-system")), "forbidden");
  const kubelet = { ...resources.CONTROLLERS_QUERY, fieldSelector: "metadata.name=kubelet" };
  assert.equal(await controller.follows(kubelet), "forbidden");
});

test("the controller cannot write what users, other controllers or operators of the cluster write", async () => {
  await using controller = await ServiceAccount.requested(plane, `${HOME}/clusterset-controller`);
  const { writer } = controller;
  const name = { namespace: "shop", name: "web" };
  const kind = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" };
  await plane.admin.apply({ ...kind, metadata: name });
  const found = await writer.get(kinds.SERVICE_EXPORTS, name);
  assert.ok(found);
  const property = { metadata: { name: "cluster.clusterset.k8s.io" }, spec: { value: "c1" } };
  const controllers = { namespace: "kube-system", name: "kube-controller-manager" };
  await refused(
    () => writer.replace(kinds.CLUSTER_PROPERTIES, property),
    () => writer.apply(kinds.SERVICE_EXPORTS, { metadata: name }),
    () => writer.delete(kinds.SERVICE_EXPORTS, name, found.meta),
    () => writer.apply(kinds.NAMESPACES, { metadata: { name: "another" } }),
    () => writer.apply(LEASES, { metadata: controllers }),
  );
});

test("the rights suffice for an API server before Kubernetes 1.32, too, which requires lists", async () => {
  await plane.stop();
  await plane.start({ watchList: false });
  await readAll();
});
