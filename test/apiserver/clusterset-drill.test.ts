import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Connections, now, placeOf } from "../connections/connections.ts";
import { CLUSTERS, ClusterSetStage, SERVICE } from "./clusterset-stage.ts";

// Three clusters with a real control plane and a real controller each, and an agent where the client is: what becomes
// of the client's connections. Only c2, which is killed, has a short Lease: no other cluster is ever stale.

/** Longer than a Lease and the longest step of a reflector's backoff. */
const OUTAGE_MS = 60_000;

let stage: ClusterSetStage;
let client: Connections;

before(async () => {
  stage = await ClusterSetStage.open({ shortLeases: ["c2"] });
});
after(() => stage[Symbol.asyncDispose]());

const settled = (wanted: string, from: number, patience?: number) =>
  client.settled(wanted, from, () => stage.log, patience);

/** Waits until c1's API server has a cluster's endpoint as `ready`, `serving` (and not ready), or `dead`. */
function untilEndpoint(id: string, condition: string): Promise<void> {
  const address = CLUSTERS.find((one) => one.id === id)?.address ?? "";
  return stage.cluster("c1").untilReady(SERVICE, { [address]: condition });
}

test("a pod of one cluster connects to a Service that another exports", async () => {
  await stage.cluster("c3").export(SERVICE);
  const { spec } = await stage.cluster("c1").untilImported(SERVICE, ["10.3.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  client = stage.connect(vip);
  await settled("c3", 0);
});

test("as clusters export and scale, connections move to local, regional and global endpoints, are rejected, and move back; no other connection fails or hangs", async () => {
  const drill = [
    ["c2", () => stage.cluster("c2").export(SERVICE)],
    ["c1", () => stage.cluster("c1").export(SERVICE)],
    ["c2", () => stage.scale("c1", false)],
    ["c3", () => stage.scale("c2", false)],
    ["refused", () => stage.scale("c3", false)],
    ["c3", () => stage.scale("c3", true)],
    ["c2", () => stage.scale("c2", true)],
    ["c1", () => stage.scale("c1", true)],
    ["c2", () => stage.scale("c1", false)],
  ] as const;
  let before = "c3";
  for (const [wanted, act] of drill) {
    const from = client.attempts.length;
    await act();
    const errors = await settled(wanted, from);
    const allowed = [wanted, before].includes("refused") ? ["refused"] : [];
    const others = errors.filter((error) => !allowed.includes(error));
    assert.deepEqual(others, [], `${before} to ${wanted}`);
    before = wanted;
  }
});

test("a cluster whose control plane is killed is a last resort after its Lease expires, and loses no connection", async () => {
  const from = client.attempts.length;
  const held = await client.hold();
  assert.equal(held.name, "c2/web");
  await stage.killControlPlane("c2");
  await settled("c2", client.attempts.length);

  await untilEndpoint("c2", "serving");
  await settled("c3", client.attempts.length);
  await stage.scale("c3", false);
  await settled("c2", client.attempts.length);
  await stage.scale("c3", true);
  await settled("c3", client.attempts.length);

  await stage.reviveControlPlane("c2");
  assert.deepEqual(await settled("c2", from, OUTAGE_MS), []);
  assert.equal(held.fault, undefined);
  await held.close();
});

test("traffic moves away from a killed cluster after its Lease expires, and back after its return; connections to other clusters continue", async () => {
  // Not ready, and not gone: c1 may list c2's slices only now, and a list that misses all that was known is looked at twice.
  await stage.cluster("c2").endpoints(SERVICE, ["10.2.0.11"], false);
  await settled("c3", client.attempts.length, OUTAGE_MS);
  const elsewhere = await client.hold();
  assert.equal(elsewhere.name, "c3/web");
  await stage.scale("c2", true);
  await settled("c2", client.attempts.length);

  const from = client.attempts.length;
  const forgotten = await stage.forgotten();
  await stage.killCluster("c2");
  await untilEndpoint("c2", "serving");
  // Pending connections to it time out after a second.
  await settled("c3", from, OUTAGE_MS);
  await stage.untilForgotten(forgotten);
  const moved = now();
  const until = client.attempts.length;
  // c2 may respond once more between the two lines above; nothing else may be reported.
  const told = new Set(client.attempts.slice(from, until).map(placeOf));
  assert.deepEqual(
    [...told].filter((place) => !["c2", "c3", "timeout"].includes(place)),
    [],
  );

  await stage.reviveCluster("c2");
  await settled("c2", until, OUTAGE_MS);
  await client.finish();
  // A port that was used for c2 in its last two minutes may be used again.
  const later = client.attempts.filter(({ begun }) => begun >= moved);
  assert.deepEqual([...new Set(later.map(placeOf))].sort(), ["c2", "c3"]);
  assert.equal(elsewhere.fault, undefined);
});
