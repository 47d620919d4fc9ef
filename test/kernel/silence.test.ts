import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BACKEND } from "../backends.ts";
import { type Places, ReachStage } from "../connections/reach-stage.ts";
import { cutOff } from "../lab/lab.ts";

// Failure detection where the evidence is doubtful: policies in the own cluster, loss, an agent that gets no processor; and where it is
// switched off. Verdicts do not depend on the backend or the family, as reach.test.ts shows: one of each runs here.

const WEB = 0;
/** Milliseconds until an agent has learnt whether probes are answered. */
const CALIBRATED = 3_000;
/** Longer than the agent needs to leave an endpoint, with or without probes. */
const DETECTED = 6_000;

function stageOf(places: Places, ...flags: readonly string[]): Promise<ReachStage> {
  const backend = { ...BACKEND, flags: [...BACKEND.flags, ...flags] };
  return ReachStage.create({ backend, family: "IPv4" }, { web: places });
}

/** Forwards packets of a node in this way, first of all. */
async function filter({ lab }: ReachStage, place: string, ...rule: readonly string[]) {
  const [cluster = "", node = ""] = place.split("/");
  await lab.node(cluster, node).exec(["iptables", "-I", "FORWARD", ...rule]);
}

/** For as long as this, the agent has no verdict. */
async function assertNoVerdict(stage: ReachStage, milliseconds: number): Promise<void> {
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(250))
    assert.doesNotMatch(await stage.verdicts(), /elements/);
}

test("default-deny in the own cluster, which admits one pod and no node: own pods keep its connections, whatever a pod calls that is not admitted", async () => {
  await using stage = await stageOf(["c1/n2", "c1/n2/2", "c2/n1"]);
  for (const from of [await stage.nodeAddress(), stage.addressOf("c1/n1", "b")])
    await filter(stage, "c1/n2", "-s", from, "-j", "DROP");
  stage.broken();
  stage.call("a", WEB);
  await stage.come("a", WEB, "c1/n2", "c1/n2/2");
  stage.call("b", WEB);
  await assertNoVerdict(stage, 2 * DETECTED);
  await stage.come("a", WEB, "c1/n2", "c1/n2/2");
  assert.deepEqual(await stage.finish("a", WEB), []);
});

test("15 % of the packets of each direction are lost on the way to a cluster: the cluster keeps its connections", async () => {
  await using stage = await stageOf(["c2/n1", "c2/n2", "c3/n1"]);
  // The kernel of the tests has no netem.
  const lost = ["-m", "statistic", "--mode", "random", "--probability", "0.15", "-j", "DROP"];
  for (const node of ["c2/n1", "c2/n2"]) await filter(stage, node, ...lost);
  stage.call("a", WEB);
  await stage.come("a", WEB, "c2/n1", "c2/n2");
  for (const end = Date.now() + 2 * DETECTED; Date.now() < end; await sleep(250))
    assert.doesNotMatch(await stage.verdicts(), /cluster c2/);
  await stage.come("a", WEB, "c2/n1", "c2/n2");
});

test("an agent that gets no processor for five seconds avoids no endpoint, and leaves a cluster that dies later", async () => {
  await using stage = await stageOf(["c2/n1", "c2/n2", "c3/n1"]);
  stage.call("a", WEB);
  await stage.come("a", WEB, "c2/n1", "c2/n2");
  await sleep(CALIBRATED);
  stage.agent.signal("SIGSTOP");
  await sleep(5_000);
  stage.agent.signal("SIGCONT");
  await assertNoVerdict(stage, DETECTED);
  await cutOff(stage.lab, "c2");
  stage.broken();
  await stage.come("a", WEB, "c3/n1");
  assert.deepEqual(await stage.finish("a", WEB), []);
});

test("--health off: a cluster that dies keeps its connections until its Lease has expired", async () => {
  await using stage = await stageOf(["c2/n1", "c3/n1"], "--health", "off");
  stage.call("a", WEB);
  await stage.come("a", WEB, "c2/n1");
  await sleep(CALIBRATED);
  await cutOff(stage.lab, "c2");
  await sleep(DETECTED);
  await assert.rejects(stage.verdicts(), /No such file/, "there is no table");
  assert.doesNotMatch(await stage.agent.page("/plan?import=shop/web"), /unanswering/);
  stage.retire("c2");
  await stage.come("a", WEB, "c3/n1");
});

test("--health remote: a dead node of the own cluster keeps its connections", async () => {
  await using stage = await stageOf(["c1/n2", "c3/n1"], "--health", "remote");
  stage.call("a", WEB);
  await stage.come("a", WEB, "c1/n2");
  await sleep(CALIBRATED);
  await stage.killNode("c1/n2");
  await assertNoVerdict(stage, DETECTED);
});
