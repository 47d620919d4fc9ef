import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withEachSetting } from "../connections/each-setting.ts";
import type { ReachStage } from "../connections/reach-stage.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { eventually } from "../stages/agent-process.ts";

/** One tier for all clusters. */
const ONE_TIER = { "clusterset-proxy.io/cluster-selectors": "[]" };
const RESET = { "clusterset-proxy.io/on-endpoint-death": "reset" };
const ENOUGH = { "clusterset-proxy.io/min-ready": "75%" };
/** All pods, of which a scenario uses some. */
const PODS = {
  web: ["c1/n1", "c1/n2", "c1/n2/2", "c2/n1", "c2/n1/2", "c2/n2", "c3/n1", "c3/n2"],
  cart: ["c1/n2", "c1/n2/2", "c2/n1", "c2/n2", "c3/n1"],
  pay: ["c2/n2", "c2/n2/2", "c3/n1"],
  many: ["c2/n1", "c2/n1/2", "c2/n1/3", "c2/n2", "c3/n1"],
};
/** How firewalls stop connections: without a word, or in the name of the pod. */
const WALLS = {
  drop: ["-j", "DROP"],
  reject: ["-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"],
} as const;

async function isBlind({ agent }: ReachStage): Promise<void> {
  await eventually(async () =>
    assert.match(await agent.page("/readyz?verbose"), /health blind: .*"c2"/),
  );
}

withEachSetting(PODS, (begin) => {
  test("two clusters: the other one loses power, and own endpoints have all connections; an established connection is reset once its Lease has expired, too", async () => {
    await using stage = await begin(
      { web: ["c1/n2", "c2/n1", "c2/n2"] },
      { web: { ...ONE_TIER, ...RESET } },
    );
    stage.call("a", "web");
    await stage.come("a", "web", "c1/n2", "c2/n1", "c2/n2");
    const stream = await stage.stay("a", "web", "c2");
    await stage.calibrated(2);
    await stage.cutOff("c2");
    stage.broken();
    await stage.come("a", "web", "c1/n2");
    assert.doesNotMatch(stream.lines.join(), /ECONNRESET/, "one witness is not enough");
    stage.retire("c2");
    await stream.line(/^ECONNRESET$/, 60_000 * SLOWNESS);
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("the uplink fails: own endpoints have all connections, and none is lost", async () => {
    await using stage = await begin({ web: ["c1/n2", "c2/n1", "c3/n1"] }, { web: ONE_TIER });
    stage.call("a", "web");
    await stage.come("a", "web", "c1/n2", "c2/n1", "c3/n1");
    await stage.calibrated(3);
    for (const cluster of ["c2", "c3"]) await stage.cutOff(cluster);
    stage.broken();
    await stage.come("a", "web", "c1/n2");
    await eventually(async () =>
      assert.match(await stage.agent.page("/readyz?verbose"), /health uplink/),
    );
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("a cluster loses power: new connections go to the next one, also after a restart of the agent, and come back with it; none is lost", async () => {
    const places = { c2: ["c2/n1", "c2/n2"], c3: ["c3/n1", "c3/n2"] };
    await using stage = await begin({ web: Object.values(places).flat() });
    const { agent } = stage;
    stage.call("a", "web");
    await stage.come("a", "web", ...places.c2);
    await stage.calibrated();
    await stage.cutOff("c2");
    stage.broken();
    await stage.come("a", "web", ...places.c3);
    assert.match(await stage.verdicts(), /comment "cluster c2"/);
    assert.match(agent.log, /No endpoint of a cluster answers/);
    assert.match(await agent.page("/readyz?verbose"), /health unanswering: .*cluster c2/);
    assert.match(await agent.page("/plan?import=shop/web"), /"reason":"unanswering"/);
    await agent.stop();
    await agent.start();
    await stage.come("a", "web", ...places.c3);
    await stage.reconnect("c2");
    await stage.come("a", "web", ...places.c2);
    await eventually(async () => assert.doesNotMatch(await stage.verdicts(), /elements/));
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("a node of another cluster loses power, with two of three replicas: its other node has all connections, and none is lost", async () => {
    await using stage = await begin({ web: ["c2/n1", "c2/n1/2", "c2/n2", "c3/n1"] });
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1", "c2/n1/2", "c2/n2");
    await stage.calibrated();
    await stage.killNode("c2/n1");
    stage.broken();
    // Connections that end come to the other node from the first moment on.
    await eventually(async () => assert.match(await stage.verdicts(), /endpoint of c2/));
    await stage.come("a", "web", "c2/n2");
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  for (const [verb, by] of Object.entries(WALLS)) {
    test(`firewalls ${verb} connections of nodes: this is reported, and when a cluster's pods fall silent, no connection is lost`, async () => {
      await using stage = await begin({ web: ["c2/n1", "c2/n2", "c3/n1"] });
      for (const cluster of ["c2", "c3"])
        await stage.drop(cluster, { from: await stage.nodeAddress(), by });
      stage.call("a", "web");
      await stage.come("a", "web", "c2/n1", "c2/n2");
      await isBlind(stage);
      // The firewalls live longer than the pods.
      await stage.drop("c2", { from: stage.addressOf("c1/n1", "a") });
      stage.broken();
      await stage.come("a", "web", "c3/n1");
      assert.deepEqual(await stage.finish("a", "web"), []);
    });
  }

  test("a pod whose connections a policy drops, and then rejects, moves no other pod's connections, where nodes are not admitted either", async () => {
    await using stage = await begin({ web: ["c2/n1", "c3/n1"] });
    await stage.drop("c2", { from: await stage.nodeAddress() });
    const from = stage.addressOf("c1/n1", "b");
    await stage.drop("c2", { from });
    stage.broken();
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1");
    await isBlind(stage);
    stage.call("b", "web");
    await sleep(12_000);
    await stage.drop("c2", { from, by: ["-j", "REJECT"] });
    await sleep(5_000);
    assert.doesNotMatch(await stage.verdicts(), /elements/);
    await stage.come("a", "web", "c2/n1");
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("all replicas of a Service are on a dead node, all of another one are blocked, and three of four of a third hang, where three have to be ready: the next tier has their connections and datagrams; a fourth one of the cluster keeps its own", async () => {
    await using stage = await begin(
      {
        web: ["c2/n1", "c2/n1/2", "c3/n1"],
        cart: ["c2/n2", "c3/n1"],
        pay: ["c2/n2", "c2/n2/2", "c3/n1"],
        many: ["c2/n1", "c2/n1/2", "c2/n1/3", "c2/n2", "c3/n1"],
      },
      { many: ENOUGH },
    );
    for (const service of ["web", "pay", "many"]) stage.call("a", service);
    stage.call("b", "cart");
    stage.call("b", "pay", "udp");
    await stage.come("a", "web", "c2/n1", "c2/n1/2");
    for (const client of ["a", "b"]) await stage.come(client, "pay", "c2/n2", "c2/n2/2");
    await stage.come("a", "many", "c2/n1", "c2/n1/2", "c2/n1/3", "c2/n2");
    await stage.calibrated(2);
    await stage.killNode("c2/n1");
    for (const place of ["c2/n2", "c2/n2/2"])
      await stage.drop("c2", { to: stage.addressOf(place, "pay") });
    stage.broken();
    for (const service of ["web", "pay", "many"]) await stage.come("a", service, "c3/n1");
    await stage.come("b", "pay", "c3/n1");
    await stage.come("b", "cart", "c2/n2");
    for (const service of ["web", "pay", "many"])
      assert.deepEqual(await stage.finish("a", service), []);
  });

  test("a dead node of the own cluster is left, for the other node or, where it had all replicas, for the next tier; no connection is lost", async () => {
    await using stage = await begin({
      web: ["c1/n1", "c1/n2", "c1/n2/2", "c2/n1"],
      cart: ["c1/n2", "c1/n2/2", "c2/n1"],
    });
    for (const service of ["web", "cart"]) stage.call("a", service);
    await stage.come("a", "web", "c1/n1", "c1/n2", "c1/n2/2");
    await stage.come("a", "cart", "c1/n2", "c1/n2/2");
    await stage.calibrated(2);
    await stage.killNode("c1/n2");
    stage.broken();
    // Connections that end come to the other node from the first moment on.
    await eventually(async () => assert.match(await stage.verdicts(), /endpoint of c1/));
    await stage.come("a", "web", "c1/n1");
    await stage.come("a", "cart", "c2/n1");
    for (const service of ["web", "cart"]) assert.deepEqual(await stage.finish("a", service), []);
  });
});
