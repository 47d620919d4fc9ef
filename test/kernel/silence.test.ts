import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withEachSetting } from "../connections/each-setting.ts";
import { eventually } from "../stages/agent-process.ts";

// Failure detection where the evidence is doubtful: policies in the own cluster, loss, an agent that gets no processor, forged answers; and where it is
// switched off.

/** All pods, of which a scenario uses some. */
const PODS = { web: ["c1/n2", "c1/n2/2", "c2/n1", "c2/n2", "c3/n1"] };
/** Longer than the agent needs to leave an endpoint, with or without probes. */
const DETECTED = 6_000;

/** What the agent logs when a verdict begins. */
const VERDICT = /using (it|them|the cluster) last/;

withEachSetting(PODS, (begin) => {
  test("default-deny in the own cluster, which admits one pod and no node: own pods keep its connections, whatever a pod calls that is not admitted", async () => {
    await using stage = await begin({ web: ["c1/n2", "c1/n2/2", "c2/n1"] });
    for (const from of [await stage.nodeAddress(), stage.addressOf("c1/n1", "b")])
      await stage.filter("c1/n2", ["-s", from, "-j", "DROP"]);
    stage.broken();
    stage.call("a", "web");
    await stage.come("a", "web", "c1/n2", "c1/n2/2");
    stage.call("b", "web");
    await sleep(2 * DETECTED);
    assert.doesNotMatch(stage.agent.log, VERDICT);
    await stage.come("a", "web", "c1/n2", "c1/n2/2");
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("15 % of the packets of each direction are lost on the way to a cluster: the cluster keeps its connections", async () => {
    await using stage = await begin({ web: ["c2/n1", "c2/n2", "c3/n1"] });
    // The kernel of the tests has no netem.
    const lost = ["-m", "statistic", "--mode", "random", "--probability", "0.15", "-j", "DROP"];
    for (const node of ["c2/n1", "c2/n2"]) await stage.filter(node, lost);
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1", "c2/n2");
    await sleep(2 * DETECTED);
    assert.doesNotMatch(stage.agent.log, /using the cluster last/);
    await stage.come("a", "web", "c2/n1", "c2/n2");
  });

  test("a WAN that fails for half a second again and again: the cluster keeps its connections, and none is lost", async () => {
    await using stage = await begin({ web: ["c2/n1", "c2/n2", "c3/n1"] });
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1", "c2/n2");
    await stage.calibrated();
    for (let flap = 0; flap < 4; flap++) {
      await stage.flap("c2");
      await sleep(3_000);
    }
    assert.doesNotMatch(stage.agent.log, /using the cluster last/);
    await stage.come("a", "web", "c2/n1", "c2/n2");
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("an agent that gets no processor for five seconds avoids no endpoint, and leaves a cluster that dies later", async () => {
    await using stage = await begin({ web: ["c2/n1", "c2/n2", "c3/n1"] });
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1", "c2/n2");
    await stage.calibrated();
    stage.agent.signal("SIGSTOP");
    await sleep(5_000);
    stage.agent.signal("SIGCONT");
    await sleep(DETECTED);
    assert.doesNotMatch(stage.agent.log, VERDICT);
    await stage.cutOff("c2");
    stage.broken();
    await stage.come("a", "web", "c3/n1");
    assert.deepEqual(await stage.finish("a", "web"), []);
  });

  test("an answer that a pod forges in the name of an endpoint ends no verdict", async () => {
    await using stage = await begin({ web: ["c2/n1"] });
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1");
    await stage.calibrated();
    await stage.killNode("c2/n1");
    await eventually(async () => assert.match(await stage.verdicts(), /elements/));
    await stage.forgeAnswer("web", "c2/n1");
    assert.match(await stage.verdicts(), /elements/);
    assert.doesNotMatch(stage.agent.log, /used as before/);
  });

  test("--health off: a cluster that dies keeps its connections until its Lease has expired", async () => {
    await using stage = await begin({ web: ["c2/n1", "c3/n1"] }, {}, ["--health", "off"]);
    stage.call("a", "web");
    await stage.come("a", "web", "c2/n1");
    await stage.cutOff("c2");
    await sleep(DETECTED);
    await assert.rejects(stage.verdicts(), /No such file/, "there is no table");
    assert.doesNotMatch(await stage.agent.page("/plan?import=shop/web"), /unanswering/);
    stage.retire("c2");
    await stage.come("a", "web", "c3/n1");
  });

  test("--health remote: a dead node of the own cluster keeps its connections", async () => {
    await using stage = await begin({ web: ["c1/n2", "c3/n1"] }, {}, ["--health", "remote"]);
    stage.call("a", "web");
    await stage.come("a", "web", "c1/n2");
    await stage.killNode("c1/n2");
    await sleep(DETECTED);
    assert.doesNotMatch(stage.agent.log, VERDICT);
  });
});
