import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { conditionOf } from "../../cli/view/status.ts";
import { MOST_KEY_CHARACTERS, MOST_RECORD_CHARACTERS } from "../../controller/model/limits.ts";
import { encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { LEASE_NAME, registryNamespace, sliceName } from "../../controller/registry/names.ts";
import type { Connections } from "../connections/connections.ts";
import { exportRecord } from "../generators/export-records.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiReference } from "./api-client.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import { EXPORT, IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

// Each limit that a namespace or a peer could fill for the others, with real API servers: what a cluster publishes (10 rules) and what a node holds (20, a slice and an import count, too).

/** Its name is the first in any order, and its exports are the oldest. */
const GREEDY = "aaa/greedy";
const MANY = 40;

let stage: ClusterSetStage;
let client: Connections;

before(async () => {
  stage = await ClusterSetStage.open({
    flags: ["--max-rules-per-cluster", "10"],
    agentFlags: ["--max-rules", "20"],
  });
  // In a peer, and in the client's own cluster.
  for (const id of ["c2", "c1"] as const) {
    const addresses = Array.from({ length: MANY }, (_, i) => `10.${id.slice(1)}.1.${i + 1}`);
    await stage.cluster(id).offer(GREEDY, ...addresses);
  }
  await untilToldIn(stage.cluster("c1"), GREEDY, /Left out/);
});
after(() => stage[Symbol.asyncDispose]());

/** What each sees: the greedy one is cut, and told so; the other has everything. */
async function check(): Promise<void> {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c1.untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
  for (const cluster of [c1, c2]) {
    await untilToldIn(cluster, GREEDY, /Left out: too-many-rules/);
  }
  await eventually(async () => {
    const [greedy, other] = [await planned(GREEDY), await planned(SERVICE)];
    assert.equal(greedy.limited?.reason, "node-limit", stage.agent.log);
    assert.equal(other.limited, undefined);
  });
}

interface Planned {
  readonly limited?: { readonly reason: string };
}

async function planned(key: string): Promise<Planned> {
  return JSON.parse(await stage.agent.page(`/plan/${key}`));
}

/** Waits until the condition of an export, or of its import, says it. */
async function untilToldIn(cluster: StagedCluster, key: string, what: RegExp): Promise<void> {
  for (const kind of [EXPORT, IMPORT])
    await eventually(async () => assert.match(await ready(cluster, kind, key), what));
}

async function ready(cluster: StagedCluster, kind: ApiReference, key: string): Promise<string> {
  return conditionOf(await cluster.find(kind, key), "Ready")?.message ?? "none";
}

test("a namespace that fills what a cluster may publish and a node may hold is cut, and others have all their endpoints", async () => {
  await stage.cluster("c2").export(SERVICE);
  await stage.cluster("c3").export(SERVICE);
  const { spec } = await stage.cluster("c1").untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  await check();
  client = stage.connect(vip);
  await client.settled("c2", 0, () => stage.log);
});

test("the same after restarts of controllers and agents, and nothing fails meanwhile", async () => {
  const from = client.attempts.length;
  for (const id of ["c2", "c1"] as const) await stage.cluster(id).replace();
  await stage.agent.stop();
  await stage.agent.start();
  await check();
  const errors = await client.settled("c2", from, () => stage.log);
  assert.deepEqual(errors, []);
});

/** A Service of c1 alone, beside the peer's. */
const OWN = "shop/own";
/** A namespace that c1 does not have: its records cost no imports. */
const GHOST = "ghost";
/** As many records as have too many characters, each with as many as it may have. */
const LONG_RECORDS = MOST_RECORD_CHARACTERS / MOST_KEY_CHARACTERS + 8;
const REGISTRY = registryNamespace("c2");

/** What c2 may not publish: more characters than all its records may have, and more rules than all its slices. */
function* flood(): Generator<object> {
  const long = {
    labels: {},
    annotations: { "example.com/x": "x".repeat(MOST_KEY_CHARACTERS - 13) },
  };
  for (let i = 0; i < LONG_RECORDS; i++) {
    const record = exportRecord({
      ...{ cluster: "c2", key: `${GHOST}/s-${i}`, metadata: long, exported: Date.now() },
    });
    yield encodeRecord(record, REGISTRY);
  }
  for (const [i, service] of ([GREEDY, `${GHOST}/s-0`] as const).entries()) {
    const endpoints = Array.from({ length: 100 }, (_, e) => ({
      ...{ address: `10.2.${2 + i}.${e + 1}`, ready: true, serving: true, terminating: false },
    }));
    const key = `${REGISTRY}/${sliceName(service, "IPv4", 1)}` as const;
    const ports = [{ name: "http", protocol: "TCP", port: 80 }] as const;
    yield encodeSlice({ key, service, family: "IPv4", ports, endpoints }, "c2");
  }
}

/** The reasons for which c1 cuts what a peer publishes, as its page has them. */
async function cutIn(c1: StagedCluster, peer: string): Promise<readonly string[]> {
  const page = JSON.parse(await c1.page("/debug")) as {
    readonly clusters: readonly { readonly cluster: string; readonly refused: object }[];
  };
  const found = page.clusters.find(({ cluster }) => cluster === peer);
  return Object.keys(found?.refused ?? {}).sort();
}

/** Versions of what c1 imports for the others, which a write would change. */
async function versions(c1: StagedCluster): Promise<readonly string[]> {
  const slices = await c1.list(SLICE, "shop");
  return slices.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
}

/** What c1 sees: all of what others and itself export, and why the peer is cut. */
async function checkPeer(c1: StagedCluster, address: string): Promise<void> {
  await c1.untilImported(SERVICE, ["10.2.0.11", address]);
  await c1.untilImported(OWN, ["10.1.0.11"]);
  await eventually(async () =>
    assert.deepEqual(await cutIn(c1, "c2"), ["too-many-keys", "too-many-rules"], c1.log),
  );
  assert.deepEqual(await cutIn(c1, "c3"), []);
  await untilToldIn(c1, GREEDY, /Left out: too-many-rules/);
}

test("a peer that publishes more than it may is cut, and neither other peers nor the own cluster notice", async () => {
  const [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
  await c1.offer(OWN, "10.1.0.11");
  await c1.untilImported(OWN, ["10.1.0.11"]);
  // Its controller would delete what it did not write.
  await c2.kill();
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  const metadata = { namespace: REGISTRY, name: LEASE_NAME };
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { leaseDurationSeconds: 3600, renewTime };
  await c2.plane.admin.patch({ ...lease, metadata }, { spec });
  const before = await versions(c1);
  const from = client.attempts.length;
  await c2.plane.admin.createAll(flood());
  await checkPeer(c1, "10.3.0.11");
  assert.deepEqual(await versions(c1), before);
  // What others change arrives.
  await c3.endpoints(SERVICE, ["10.3.0.12"]);
  await checkPeer(c1, "10.3.0.12");
  assert.deepEqual(await client.settled("c2", from, () => stage.log), []);
});

test("the same after a restart of the controller, which writes nothing of theirs", async () => {
  const c1 = stage.cluster("c1");
  const before = await versions(c1);
  const from = client.attempts.length;
  await c1.replace();
  await checkPeer(c1, "10.3.0.12");
  assert.deepEqual(await versions(c1), before);
  assert.deepEqual(await client.settled("c2", from, () => stage.log), []);
});
