import assert from "node:assert/strict";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { eventually } from "../stages/agent-process.ts";
import { SilenceStage } from "./stage.ts";

/** A cluster loses power under connections of both families: none is lost, new ones go to the next cluster, and come back with it. A restart forgets nothing. */
export async function assertClusterDeath(backend?: TestedBackend): Promise<void> {
  await using stage = await SilenceStage.create(backend);
  await stage.agent.start();
  stage.call();
  await stage.come("c2");
  await stage.calibrated();
  await stage.powerOff("c2");
  await stage.come("c3");
  assert.match(await stage.silent(), /comment "cluster c2"/);
  assert.match(stage.agent.log, /No endpoint of a cluster answers/);
  const page = await stage.agent.page("/readyz?verbose");
  assert.match(page, /health unanswering: .*cluster c2/);
  const plan = await stage.agent.page("/plan?import=shop/web");
  assert.match(plan, /"reason":"unanswering"/);
  await stage.agent.stop();
  await stage.agent.start();
  await stage.come("c3");
  await stage.powerOn("c2");
  await stage.come("c2");
  await eventually(async () => assert.doesNotMatch(await stage.silent(), /elements/));
  assert.deepEqual(await stage.finish(), []);
}

/** A node of a cluster loses power: its endpoint gets no more connections, the others of its cluster get them all, and none is lost. */
export async function assertNodeDeath(backend?: TestedBackend): Promise<void> {
  await using stage = await SilenceStage.create(backend);
  await stage.agent.start();
  stage.call();
  await stage.come("c2");
  await stage.mute("c2", "n1");
  // Connections that end come to the other node from the first moment on.
  await eventually(async () => assert.match(await stage.silent(), /comment "endpoint of c2"/));
  await stage.come("c2/n2");
  assert.deepEqual(await stage.finish(), []);
}
