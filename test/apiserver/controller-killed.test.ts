import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Chance } from "../generators/chance.ts";
import { SEED } from "../seed.ts";
import { BundledController } from "../stages/bundled-controller.ts";
import { Churn } from "./churn.ts";
import { ControllerStage, type StagedCluster } from "./controller-stage.ts";
import { duplicates, eraseWork, type PublishedState, publishedState } from "./published-state.ts";
import { Witness } from "./witness.ts";

// Two real controllers that are killed again and again, while what they have to do changes. `SEED=n` repeats what was done by
// chance, though not when.

/** How often each of the two is killed. */
const KILLS = 10;
/** Of a hundred, how many are killed before they may have begun to work. */
const EARLY = 20;
/** Milliseconds within which these are killed. */
const BOOT_MS = 250;
/** Most writes after which the others are killed: at the moment when the last one is seen, with more under way. */
const MOST_WRITES = 40;
/** Milliseconds without so many, after which they are killed while they have nothing to do. */
const QUIET_MS = 500;
/** Changes after both have been killed for the last time. */
const UNSEEN = 60;
/** Milliseconds between two changes. */
const PACE_MS = 40;
/** Where VIPs come from: so few addresses that some of the names' hashes meet. */
const RANGE = "241.0.0.0/25";

const STEADY = Array.from({ length: 8 }, (_, i) => `shop/steady-${i}`);
const CHANGING = Array.from({ length: 24 }, (_, i) => `${i % 2 ? "shop" : "store"}/web-${i}`);

const chance = new Chance(SEED);
let controller: BundledController;
let stage: ControllerStage;
let churn: Churn;
let found: readonly PublishedState[];

before(async () => {
  controller = await BundledController.build();
  stage = await ControllerStage.open({
    clusters: ["c1", "c2"],
    program: controller.program,
    flags: ["--clusterset-cidr", RANGE],
  });
  churn = new Churn({ clusters: stage.clusters, changing: CHANGING, steady: STEADY, chance });
  await churn.prepare();
  await stage.start();
  await churn.settled();
});
after(async () => {
  await stage[Symbol.asyncDispose]();
  controller[Symbol.dispose]();
});

/** Kills a controller at any moment, and starts another at once, many times. */
async function killOften(cluster: StagedCluster, witness: Witness): Promise<void> {
  for (let i = 0; i < KILLS; i++) {
    if (chance.percent(EARLY)) await sleep(chance.below(BOOT_MS));
    else {
      await cluster.untilLogged("this replica reconciles");
      await witness.writesMore(chance.below(MOST_WRITES), QUIET_MS);
    }
    await cluster.replace();
  }
}

test("after controllers were killed twenty times, nothing is lost or left over, no Event is repeated, and no VIP has changed", async (t) => {
  t.diagnostic(`SEED=${SEED}`);
  const lives = stage.clusters.map((cluster) => ({ cluster, witness: new Witness(cluster) }));
  let over = false;
  const killed = Promise.all(lives.map((life) => killOften(life.cluster, life.witness)));
  const ended = killed.finally(() => {
    over = true;
  });
  while (!over) {
    await churn.change();
    await sleep(PACE_MS);
  }
  await ended;
  // Also changes while no controller runs.
  await Promise.all(stage.clusters.map((cluster) => cluster.kill()));
  for (let i = 0; i < UNSEEN; i++) await churn.change();
  for (const cluster of stage.clusters) await cluster.replace();
  await churn.settled();
  found = await Promise.all(stage.clusters.map(publishedState));
  assert.deepEqual(found.flatMap(duplicates), []);
  for (const { imports, vips } of found) {
    assert.equal(vips.length, imports.length);
    assert.equal(new Set(vips).size, vips.length, `no two imports have one VIP: ${vips.join()}`);
  }
  for (const { witness } of lives) {
    await witness[Symbol.asyncDispose]();
    assert.deepEqual(witness.faults, []);
    const withdrawn = witness.deleted.filter((loss) =>
      STEADY.some((steady) => loss.startsWith(`DELETED ServiceImport ${steady} `)),
    );
    assert.deepEqual(withdrawn, []);
  }
});

test("the final state is that of controllers that start with an empty cluster", async () => {
  const { clusters } = stage;
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  await Promise.all(clusters.map(eraseWork));
  await stage.start();
  await churn.settled();
  const made = await Promise.all(clusters.map(publishedState));
  // If hashes collide, the first import gets the VIP.
  const besideVips = (states: readonly PublishedState[]) =>
    states.map((state) => ({ ...state, vips: [] }));
  assert.deepEqual(besideVips(found), besideVips(made));
});
