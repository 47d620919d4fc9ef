import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { service } from "../backends/service.ts";
import { BACKENDS } from "../backends.ts";
import { Chance } from "../generators/chance.ts";
import { SEED } from "../seed.ts";
import { AGENT, eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

/** When an agent is killed, and what happens to a transaction that the backend's program has not read yet. */
const MOMENTS = ["at any time", "transaction lost", "transaction cut", "transaction finishes"];
const ROUNDS = 3;
/** Milliseconds to wait for what an agent does. */
const PATIENCE = 30_000;

/** So many VIPs that the rules have chains for prefixes, and endpoints, at random. */
function objects(chance: Chance): object[] {
  const hosts = new Set(Array.from({ length: 60 }, () => 1 + chance.below(200)));
  const vips = [...hosts].slice(0, 18 + chance.below(12)).map((host) => `241.0.1.${host}`);
  const endpoints = Array.from({ length: 1 + chance.below(4) }, (_, i) => `10.1.0.${11 + i}`);
  return service("shop/web", vips, endpoints);
}

/** Stops the backend's program, and waits until the agent has written a transaction to it. Gives its process id. */
async function heldTransaction(
  stage: NodeStage,
  program: RegExp,
  change: () => void,
): Promise<number> {
  const pid = await eventually(() => {
    const found = [...stage.children].find(([name]) => program.test(name));
    return found?.[1] ?? assert.fail(`the agent has no ${program.source}`);
  }, PATIENCE);
  process.kill(pid, "SIGSTOP");
  change();
  const inode = /\d+/.exec(readlinkSync(`/proc/${pid}/fd/0`))?.[0];
  await eventually(async () => {
    const sockets = (await stage.node.exec(["ss", "-xH"])).split("\n");
    const columns = sockets.map((line) => line.trim().split(/\s+/));
    const input = columns.find((words) => words[5] === inode);
    assert.ok(Number(input?.[2]) > 0, "no transaction is waiting");
  }, PATIENCE);
  return pid;
}

for (const backend of BACKENDS) {
  const { writerProcess } = backend;
  // IPVS writes a transaction in many steps: test/backends/faults.test.ts kills an agent between two of them.
  if (writerProcess === undefined) continue;
  test(`${backend.title}: killed between and inside transactions, the agent's successor ends with the objects of a fresh start`, async (t) => {
    const chance = new Chance(SEED);
    await using stage = await NodeStage.create({ backend });
    const change = () => stage.manifests.write("web", ...objects(chance));
    stage.manifests.remove("import");
    stage.manifests.remove("slice");
    change();
    await stage.agent.start();
    const hits = new Map<string, number>();
    for (let round = 0; round < ROUNDS * MOMENTS.length; round++) {
      const moment = MOMENTS[round % MOMENTS.length] ?? "";
      if (moment === "at any time") {
        change();
        await sleep(chance.below(40));
        await stage.agent.kill();
      } else {
        const held = await heldTransaction(stage, writerProcess, change);
        await stage.agent.kill();
        if (moment !== "transaction lost") process.kill(held, "SIGCONT");
        if (moment === "transaction cut") await sleep(chance.below(10));
        if (moment !== "transaction finishes") kill(held);
        hits.set(moment, (hits.get(moment) ?? 0) + 1);
      }
      change();
      await stage.agent.start();
    }
    for (const moment of MOMENTS.slice(1)) assert.equal(hits.get(moment), ROUNDS, moment);
    t.diagnostic(`SEED=${SEED}: ${JSON.stringify(Object.fromEntries(hits))}`);

    const settled = await stage.rules();
    await stage.agent.stop();
    await stage.node.exec([AGENT, "cleanup"]);
    assert.equal(await stage.rules(), "");
    await stage.agent.start();
    assert.equal(await stage.rules(), settled, `SEED=${SEED}`);
  });
}

/** Kills a process that may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}
