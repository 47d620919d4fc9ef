import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BACKENDS } from "../backends.ts";
import { cutOff } from "../lab/outage.ts";
import { ReachStage, type Setting } from "../silence/reach-stage.ts";
import { eventually } from "../stages/agent-process.ts";

/** One tier for all clusters. */
const ONE_TIER = { "clusterset-proxy.io/cluster-selectors": "[]" };
const [WEB, CART] = [0, 1] as const;
/** Milliseconds until an agent has learnt whether probes are answered. */
const CALIBRATED = 3_000;

async function isBlind({ agent }: ReachStage): Promise<void> {
  await eventually(async () =>
    assert.match(await agent.page("/readyz?verbose"), /health blind: .*"c2"/),
  );
}

/** Each backend with one family, nftables with both: evidence does not depend on the backend, its rules do. */
const SETTINGS: readonly Setting[] = BACKENDS.flatMap((backend) =>
  (backend.title === "nftables"
    ? (["IPv4", "IPv6"] as const)
    : [backend.title.includes("legacy") ? ("IPv4" as const) : ("IPv6" as const)]
  ).map((family) => ({ backend, family })),
);

for (const setting of SETTINGS) {
  const { backend, family } = setting;
  describe(`${backend.title}, ${family}`, () => reaches(setting));
}

function reaches(setting: Setting): void {
  const { family } = setting;

  test("two clusters: when the other one loses power, own endpoints have all connections, and none is lost", async () => {
    await using stage = await ReachStage.create(
      setting,
      { web: ["c1/n2", "c2/n1", "c2/n2"] },
      ONE_TIER,
    );
    stage.call("a", WEB);
    await stage.come("a", WEB, "c1/n2", "c2/n1", "c2/n2");
    await sleep(CALIBRATED);
    await cutOff(stage.lab, "c2");
    stage.broken();
    await stage.come("a", WEB, "c1/n2");
    assert.deepEqual(await stage.finish("a", WEB), []);
  });

  test("the uplink fails: own endpoints have all connections, and none is lost", async () => {
    await using stage = await ReachStage.create(
      setting,
      { web: ["c1/n2", "c2/n1", "c3/n1"] },
      ONE_TIER,
    );
    stage.call("a", WEB);
    await stage.come("a", WEB, "c1/n2", "c2/n1", "c3/n1");
    await sleep(CALIBRATED);
    for (const cluster of ["c2", "c3"]) await cutOff(stage.lab, cluster);
    stage.broken();
    await stage.come("a", WEB, "c1/n2");
    await eventually(async () =>
      assert.match(await stage.agent.page("/readyz?verbose"), /health uplink/),
    );
    assert.deepEqual(await stage.finish("a", WEB), []);
  });

  test("policies do not admit nodes: this is reported, and when the cluster loses power, no connection is lost", async () => {
    await using stage = await ReachStage.create(setting, { web: ["c2/n1", "c2/n2", "c3/n1"] });
    for (const cluster of ["c2", "c3"])
      await stage.drop(cluster, { from: await stage.nodeAddress() });
    stage.call("a", WEB);
    await stage.come("a", WEB, "c2/n1", "c2/n2");
    await isBlind(stage);
    await cutOff(stage.lab, "c2");
    stage.broken();
    await stage.come("a", WEB, "c3/n1");
    assert.deepEqual(await stage.finish("a", WEB), []);
  });

  test("a pod that a policy does not admit moves no other pod's connections, where nodes are not admitted either", async () => {
    await using stage = await ReachStage.create(setting, { web: ["c2/n1", "c3/n1"] });
    await stage.drop("c2", { from: await stage.nodeAddress() });
    await stage.drop("c2", { from: stage.addressOf("c1/n1", "b") });
    stage.broken();
    stage.call("a", WEB);
    await stage.come("a", WEB, "c2/n1");
    await isBlind(stage);
    stage.call("b", WEB);
    await sleep(12_000);
    assert.doesNotMatch(await stage.verdicts(), /elements/);
    await stage.come("a", WEB, "c2/n1");
    assert.deepEqual(await stage.finish("a", WEB), []);
  });

  test("both replicas of a Service are blocked, while another Service of the cluster answers: the next tier has all connections", async () => {
    await using stage = await ReachStage.create(setting, {
      web: ["c2/n1", "c2/n2", "c3/n1"],
      cart: ["c2/n1", "c3/n1"],
    });
    stage.call("a", WEB);
    stage.call("b", CART);
    await stage.come("a", WEB, "c2/n1", "c2/n2");
    await sleep(CALIBRATED);
    for (const node of ["n1", "n2"])
      await stage.drop("c2", { to: stage.addressOf(`c2/${node}`, "web") });
    stage.broken();
    await stage.come("a", WEB, "c3/n1");
    await stage.come("b", CART, "c2/n1");
    assert.deepEqual(await stage.finish("a", WEB), []);
  });

  test("a dead node of the own cluster is left, and none of its connections is lost", async () => {
    await using stage = await ReachStage.create(setting, { web: ["c1/n1", "c1/n2", "c2/n1"] });
    stage.call("a", WEB);
    await stage.come("a", WEB, "c1/n1", "c1/n2");
    await sleep(CALIBRATED);
    await stage.lab
      .node("c1", "n2")
      .exec([family === "IPv6" ? "ip6tables" : "iptables", "-I", "FORWARD", "-j", "DROP"]);
    stage.broken();
    // Connections that end come to the other node from the first moment on.
    await eventually(async () => assert.match(await stage.verdicts(), /endpoint of c1/));
    await stage.come("a", WEB, "c1/n1");
    assert.deepEqual(await stage.finish("a", WEB), []);
  });
}
