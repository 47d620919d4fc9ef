import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import type { ApiReference } from "./api-client.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import type { ControlPlane } from "./control-plane.ts";

// controller/sync/drain.test.ts proves the rest in memory: ends, windows, hubs, messages. Here: connections, and the rights to read where
// a drain is stated.

const OWN_SIDE = {
  apiVersion: "about.k8s.io/v1beta1",
  kind: "ClusterProperty",
  metadata: { name: "cluster.clusterset.k8s.io" },
};

/** Longer than a busy machine takes for any of these changes. */
const PATIENCE_MS = 60_000;

/** c2, as c1 knows it. */
const PEER = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "clusterset-proxy", name: "peer-c2" },
};

async function annotate({ admin }: ControlPlane, object: ApiReference, drain: string | null) {
  await admin.patch(object, { metadata: { annotations: { [ANNOTATION_DRAIN]: drain } } });
}

test("a cluster is drained from its own side and from an importer's: established connections stay, new ones go elsewhere, and none fails", async () => {
  await using stage = await ClusterSetStage.open({ flags: ["--return-window", "0s"] });
  const [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
  await c2.export(SERVICE);
  await c3.export(SERVICE);
  const { spec } = await c1.untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  const client = stage.connect(vip);
  const settled = (wanted: string) =>
    client.settled(wanted, client.attempts.length, () => stage.log, PATIENCE_MS);
  await settled("c2");
  const held = await client.hold();
  assert.equal(held.name, "c2/web");
  for (const [plane, object, elsewhere] of [
    [c2.plane, OWN_SIDE, "serving"],
    [c1.plane, PEER, "ready"],
  ] as const) {
    const drain = `from=${new Date().toISOString()}; for=1h; by=ann; reason=kernel upgrade`;
    await annotate(plane, object, drain);
    assert.deepEqual(await settled("c3"), []);
    await c3.untilReady(SERVICE, { "10.2.0.11": elsewhere });
    await stage.scale("c3", false);
    const errors = await settled("c2");
    assert.deepEqual(errors, [], "it is the last resort");
    await stage.scale("c3", true);
    assert.deepEqual(await settled("c3"), []);
    await annotate(plane, object, null);
    assert.deepEqual(await settled("c2"), []);
  }
  assert.equal(held.fault, undefined);
  await held.close();
  await client.finish();
});
