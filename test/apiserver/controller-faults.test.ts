import assert from "node:assert/strict";
import { test } from "node:test";
import { meshRights } from "./controller-rights.ts";
import { ControllerStage, SHORT_LEASE } from "./controller-stage.ts";
import { OURS } from "./release.ts";
import { StagedCluster } from "./staged-cluster.ts";
import { Witness } from "./witness.ts";

/** What the second controller of c1 is called to its API server. */
const FELLOW = "fellow";
const KEYS = Array.from({ length: 40 }, (_, i) => `shop/web-${i}`);
/** Writes after which a leader is stopped that has many more to do. */
const UNDER_WAY = 5;
/** As many writes as `Flow` makes at the same time: so many may wait for an answer, or for a connection. */
const MOST_LATE = 16;
const PATIENCE_MS = 3000;

test("a leader that was stopped during its work until another took over changes nothing after SIGCONT", async () => {
  await using stage = await ControllerStage.open({
    clusters: ["c1", "c2"],
    shortLeases: ["c1"],
    users: [FELLOW],
  });
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  const { plane } = c1;
  const rights = meshRights("c1", FELLOW, FELLOW).filter(({ kind }) => kind.endsWith("Binding"));
  for (const { metadata, ...binding } of rights) {
    const name = `${metadata.name}-${FELLOW}`;
    await plane.admin.apply({ ...binding, metadata: { ...metadata, name } });
  }
  const scale = (...addresses: string[]) =>
    Promise.all(KEYS.map((key) => c1.endpoints(key, addresses)));
  await c2.namespace("shop");
  for (const key of KEYS) {
    await c1.serve(key, ["10.1.0.1"]);
    await c1.export(key);
  }
  await stage.start();
  for (const key of KEYS) await c2.untilImported(key, ["10.1.0.1"]);
  const flags = ["--kubeconfig", plane.kubeconfig({ user: FELLOW }), "--cluster-id", "c1"];
  await using fellow = new StagedCluster({
    ...{ id: "c1", plane, program: OURS.controller, user: FELLOW },
    flags: [...flags, "--lease-duration", SHORT_LEASE],
  });
  await fellow.launch();
  await fellow.untilLogged('"reason":"standby"');
  await using witness = new Witness(c1);
  // Once before, so that the leader has connections for so much at once.
  await scale("10.1.0.1", "10.1.0.2");
  const burst = scale("10.1.0.1", "10.1.0.3");
  await witness.writesMore(UNDER_WAY, PATIENCE_MS);
  c1.process.signal("SIGSTOP");
  await burst;
  await fellow.untilLogged("this replica reconciles");
  await scale("10.1.0.4");
  const before = c1.writes();
  c1.process.signal("SIGCONT");
  await c1.untilLogged('"reason":"standby"');
  for (const cluster of [fellow, c2])
    for (const key of KEYS) await cluster.untilImported(key, ["10.1.0.4"]);
  await fellow.atRest();
  // What waited for a connection is sent before the clock is looked at: it meets objects that are others by now, or gone. Of
  // what was sent by half, the rest does not come any more (504).
  const late = c1.writes().slice(before.length);
  assert.ok(late.length <= MOST_LATE, JSON.stringify(late));
  for (const { code, uri } of late) assert.ok([404, 409, 504].includes(code), `${code} ${uri}`);
  assert.deepEqual(witness.faults, []);
});
