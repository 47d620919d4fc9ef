import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { quiet } from "../../test/doubles/fake-table.ts";
import { virtualService } from "../../test/generators/services.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { RETENTION_MS } from "./retained-rules.ts";

const MANY = 25;

function keyOf(i: number): ObjectKey {
  return `demo/s${i}`;
}

function service(i: number, change: Partial<VirtualService> = {}): VirtualService {
  return virtualService({ importKey: keyOf(i), vips: [`241.0.0.${i}`], ...change });
}

describe("a start at which the lists lack most services that the kernel holds", () => {
  let stage: ReconcilerStage;
  beforeEach(() => {
    stage = new ReconcilerStage();
    // The rules of an earlier run.
    for (let i = 0; i < MANY; i++) {
      stage.table.kernel.set(keyOf(i), JSON.stringify([service(i)]));
    }
  });
  afterEach(() => stage.reconciler.stop());

  async function wait(ms: number): Promise<void> {
    stage.clock.advance(ms);
    await quiet();
  }

  async function begin(): Promise<void> {
    stage.reconciler.start();
    await quiet();
  }

  const written = () => stage.table.log.filter((line) => line.startsWith("apply"));

  test("writes nothing for 30 seconds, reports it, and then deletes what is not listed", async () => {
    const before = new Map(stage.table.kernel);
    await begin();
    for (let ms = 5_000; ms < RETENTION_MS; ms += 5_000) await wait(5_000);
    assert.deepEqual([stage.table.kernel, written()], [before, []]);
    assert.deepEqual(stage.retained, [`retained ${MANY} of ${MANY}`]);
    assert.deepEqual([stage.reconciler.retained, stage.reconciler.synced], [MANY, false]);
    await wait(5_000);
    assert.equal(stage.table.kernel.size, 0);
    assert.deepEqual(stage.retained, [`retained ${MANY} of ${MANY}`, `released ${MANY}`]);
    assert.deepEqual([stage.reconciler.retained, stage.reconciler.synced], [0, true]);
  });

  test("proceeds within five seconds once enough services are listed", async () => {
    await begin();
    await wait(5_000);
    for (let i = 0; i < MANY - 5; i++) stage.set(keyOf(i), service(i));
    await wait(5_000);
    assert.equal(stage.table.kernel.size, MANY - 5);
    assert.deepEqual(stage.retained, [`retained ${MANY} of ${MANY}`, "released 0"]);
    assert.equal(stage.reconciler.synced, true);
  });

  test("counts an import without slices as not listed: its slices may come later", async () => {
    for (let i = 0; i < MANY; i++) {
      stage.silent.add(keyOf(i));
      stage.set(keyOf(i), service(i, { endpoints: [] }));
    }
    await begin();
    assert.deepEqual(stage.retained, [`retained ${MANY} of ${MANY}`]);
    assert.deepEqual(written(), []);
  });

  test("counts an import whose slices list no ready endpoint as listed", async () => {
    for (let i = 0; i < MANY; i++) stage.set(keyOf(i), service(i, { endpoints: [] }));
    await begin();
    assert.deepEqual([stage.retained, stage.reconciler.synced], [[], true]);
  });

  test("follows no connection tracking until it writes", async () => {
    await begin();
    await wait(5_000);
    assert.deepEqual(stage.followed, []);
  });

  test("does not retain again after the first pass: a deletion is a deletion", async () => {
    for (let i = 0; i < MANY; i++) stage.set(keyOf(i), service(i));
    await begin();
    for (let i = 0; i < MANY; i++) stage.set(keyOf(i));
    await quiet();
    assert.deepEqual([stage.retained, stage.table.kernel.size], [[], 0]);
  });

  test("whose VIPs flags do not allow writes nothing until that changes, however long it takes", async () => {
    const before = new Map(stage.table.kernel);
    for (let i = 0; i < MANY; i++) stage.refused.set(keyOf(i), [service(i)]);
    await begin();
    for (let ms = 0; ms < 10 * RETENTION_MS; ms += 5_000) await wait(5_000);
    assert.deepEqual([stage.table.kernel, written()], [before, []]);
    assert.deepEqual(stage.retained, [`retained ${MANY} of ${MANY}, not allowed`]);
    assert.deepEqual([stage.reconciler.retained, stage.reconciler.synced], [MANY, false]);
    stage.refused.clear();
    for (let i = 0; i < MANY; i++) stage.set(keyOf(i), service(i, { vips: [`242.0.0.${i}`] }));
    await wait(5_000);
    assert.equal(stage.reconciler.synced, true);
    stage.assertAsWanted();
  });

  test("whose VIPs flags do not allow once they are listed is retained for longer than the lists are awaited", async () => {
    await begin();
    await wait(5_000);
    for (let i = 0; i < MANY; i++) stage.refused.set(keyOf(i), [service(i)]);
    for (let ms = 0; ms < RETENTION_MS; ms += 5_000) await wait(5_000);
    assert.deepEqual(stage.retained, [
      `retained ${MANY} of ${MANY}`,
      `retained ${MANY} of ${MANY}, not allowed`,
    ]);
    assert.deepEqual([stage.table.kernel.size, written()], [MANY, []]);
  });

  test("lacks half of them in the lists and half by flags: the lists are awaited, and then followed", async () => {
    for (let i = 0; i < 12; i++) stage.refused.set(keyOf(i), [service(i)]);
    await begin();
    await wait(RETENTION_MS);
    assert.deepEqual(stage.retained.length, 2);
    assert.equal(stage.table.kernel.size, 0);
  });

  test("ends at once when the agent stops, and the rules stay", async () => {
    await begin();
    await stage.reconciler.stop();
    assert.deepEqual([stage.table.kernel.size, stage.clock.pending], [MANY, 0]);
  });
});

for (const [lost, retains] of [
  [10, false],
  [14, true],
] as const) {
  test(`${lost} of 20 services not listed: ${retains ? "retained" : "deleted at once"}`, async () => {
    const stage = new ReconcilerStage();
    for (let i = 0; i < 20; i++) {
      stage.table.kernel.set(keyOf(i), JSON.stringify([service(i)]));
      if (i >= lost) stage.set(keyOf(i), service(i));
    }
    stage.reconciler.start();
    await quiet();
    assert.equal(stage.retained.length > 0, retains);
    assert.equal(stage.table.kernel.size, retains ? 20 : 20 - lost);
    await stage.reconciler.stop();
  });
}
