import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { quiet } from "../../test/support/fake-backend.ts";
import { ReconcilerBench } from "../../test/support/reconciler-bench.ts";
import { virtualService } from "../../test/support/services.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { DOUBT_MS } from "./mass-loss.ts";

const MANY = 25;

function keyOf(i: number): ObjectKey {
  return `demo/s${i}`;
}

function service(i: number, change: Partial<VirtualService> = {}): VirtualService {
  return virtualService({ importKey: keyOf(i), vips: [`241.0.0.${i}`], ...change });
}

/** The kernel as an earlier run has left it. */
function leave(bench: ReconcilerBench, count: number): void {
  for (let i = 0; i < count; i++) bench.backend.kernel.set(keyOf(i), JSON.stringify([service(i)]));
}

describe("a start at which nothing tells of most that the kernel has", () => {
  let bench: ReconcilerBench;
  beforeEach(() => {
    bench = new ReconcilerBench();
    leave(bench, MANY);
  });
  afterEach(() => bench.reconciler.stop());

  async function begin(): Promise<void> {
    bench.reconciler.start();
    await quiet();
  }

  async function wait(ms: number): Promise<void> {
    bench.clock.advance(ms);
    await quiet();
  }

  test("deletes nothing for 30 seconds, says so, and then believes it", async () => {
    const before = new Map(bench.backend.kernel);
    await begin();
    await wait(DOUBT_MS - 1);
    assert.deepEqual(bench.backend.kernel, before);
    assert.ok(!bench.backend.log.some((line) => line.startsWith("apply")));
    assert.deepEqual(bench.losses, [`doubted ${MANY} of ${MANY}`]);
    assert.deepEqual([bench.reconciler.doubted, bench.reconciler.synced], [MANY, false]);
    await wait(1);
    assert.equal(bench.backend.kernel.size, 0);
    assert.deepEqual(bench.losses, [`doubted ${MANY} of ${MANY}`, `believed ${MANY}`]);
    assert.deepEqual([bench.reconciler.doubted, bench.reconciler.synced], [0, true]);
  });

  test("writes what is wanted at once, new or changed, and what is said later, too", async () => {
    bench.set(keyOf(3), service(3, { port: 81 }));
    bench.set(keyOf(100), service(100));
    await begin();
    assert.equal(bench.has(keyOf(3))[0]?.port, 81);
    assert.equal(bench.has(keyOf(100))[0]?.port, 80);
    assert.equal(bench.reconciler.doubted, MANY - 1);
    bench.set(keyOf(4), service(4, { port: 82 }));
    bench.set(keyOf(101), service(101));
    await quiet();
    assert.equal(bench.has(keyOf(4))[0]?.port, 82);
    assert.equal(bench.has(keyOf(101))[0]?.port, 80);
    assert.equal(bench.has(keyOf(5))[0]?.port, 80);
    assert.equal(bench.reconciler.oldestWaiting, undefined);
  });

  test("believes a deletion that follows", async () => {
    bench.set(keyOf(3), service(3));
    await begin();
    bench.set(keyOf(4), service(4));
    await quiet();
    bench.set(keyOf(3));
    bench.set(keyOf(4));
    await quiet();
    assert.equal(bench.backend.kernel.size, MANY - 2);
  });

  test("is over as soon as all are told of again", async () => {
    await begin();
    for (let i = 0; i < MANY; i++) bench.set(keyOf(i), service(i));
    await quiet();
    assert.deepEqual(bench.losses.at(-1), "believed 0");
    assert.equal(bench.reconciler.synced, true);
    assert.ok(!bench.backend.log.some((line) => line.startsWith("apply")), "nothing was written");
    assert.equal(bench.followed.at(-1), "accepted all");
  });

  test("counts imports that no slice tells of, until one does, or the import goes again", async () => {
    for (let i = 0; i < MANY; i++) {
      bench.set(keyOf(i), service(i, { endpoints: [], reason: "no-endpoint" }));
      bench.silent.add(keyOf(i));
    }
    await begin();
    assert.equal(bench.reconciler.doubted, MANY);
    assert.ok(!bench.backend.log.some((line) => line.startsWith("apply")));
    assert.deepEqual(bench.followed, ["accepted"], "nobody is told that their endpoints are gone");
    bench.silent.delete(keyOf(3));
    bench.reconciler.changed(keyOf(3), 0);
    bench.set(keyOf(4));
    await quiet();
    assert.equal(bench.has(keyOf(3))[0]?.endpoints.length ?? 0, 0);
    assert.equal(bench.backend.kernel.has(keyOf(4)), false);
    assert.equal(bench.has(keyOf(5))[0]?.endpoints.length ?? 0, 1);
  });

  test("goes on doubting through failures and complete passes, with what the kernel still has", async () => {
    await begin();
    bench.backend.faults.push("after", "before");
    bench.set(keyOf(100), service(100));
    await quiet();
    bench.backend.kernel.delete(keyOf(7));
    await wait(10_000);
    assert.equal(bench.has(keyOf(100))[0]?.port, 80);
    assert.equal(bench.backend.kernel.size, MANY);
    await wait(DOUBT_MS);
    await bench.settle();
    assert.deepEqual([...bench.backend.kernel.keys()], [keyOf(100)]);
  });

  test("decides only once it knows what the kernel has", async () => {
    bench.backend.standingFails = new Error("no");
    await begin();
    assert.equal(bench.failures.length, 1);
    assert.equal(bench.backend.kernel.size, MANY);
    bench.backend.standingFails = undefined;
    await wait(1_000);
    assert.equal(bench.reconciler.doubted, MANY);
  });

  test("takes nothing from an import that is told of while it asks which services there are", async () => {
    const before = new Map(bench.backend.kernel);
    const asked = Promise.withResolvers<void>();
    const standing = await bench.backend.standing();
    bench.backend.standing = async () => {
      await asked.promise;
      return standing;
    };
    await begin();
    bench.set(keyOf(3), service(3));
    asked.resolve();
    await quiet();
    assert.deepEqual(bench.backend.kernel, before);
    assert.ok(!bench.backend.log.some((line) => line.startsWith("apply")));
    assert.equal(bench.reconciler.doubted, MANY - 1);
  });

  test("leaves everything when it is stopped meanwhile", async () => {
    await begin();
    await bench.reconciler.stop();
    await wait(DOUBT_MS * 2);
    assert.equal(bench.backend.kernel.size, MANY);
    assert.equal(bench.clock.pending, 0);
  });
});

describe("a start is like any other", () => {
  /** Of how many services nothing tells, and of how many something does. */
  const starts: readonly (readonly [lost: number, told: number])[] = [
    [0, 1],
    [1, 1],
    [10, 1],
    [11, 11],
    [0, MANY],
  ];
  for (const [lost, told] of starts) {
    test(`if of ${lost + told} services ${lost} are gone`, async () => {
      const bench = new ReconcilerBench();
      leave(bench, lost + told);
      for (let i = lost; i < lost + told; i++) bench.set(keyOf(i), service(i));
      bench.reconciler.start();
      await quiet();
      assert.deepEqual(bench.losses, []);
      assert.equal(bench.backend.kernel.size, told);
      assert.ok(!bench.backend.log.includes("standing"), "nobody had to ask which there are");
      assert.equal(bench.reconciler.synced, true);
      await bench.reconciler.stop();
    });
  }

  test("if services have moved: what is told of by another name, and has its VIP, is not lost", async () => {
    const bench = new ReconcilerBench();
    leave(bench, 3);
    for (let i = 0; i < 3; i++) {
      bench.set(`moved/s${i}`, service(i, { importKey: `moved/s${i}` }));
    }
    bench.reconciler.start();
    await quiet();
    assert.deepEqual(bench.losses, []);
    assert.deepEqual([...bench.backend.kernel.keys()], ["moved/s0", "moved/s1", "moved/s2"]);
    await bench.reconciler.stop();
  });

  test("if everything goes later: what a watch says is believed at once", async () => {
    const bench = new ReconcilerBench();
    leave(bench, MANY);
    for (let i = 0; i < MANY; i++) bench.set(keyOf(i), service(i));
    await bench.start();
    for (let i = 0; i < MANY; i++) bench.set(keyOf(i));
    await quiet();
    assert.equal(bench.backend.kernel.size, 0);
    await bench.reconciler.stop();
  });
});

test("whatever is there, is wanted and is said, nothing that is wanted waits, and after the doubt all is as wanted", async () => {
  const imports = fc.uniqueArray(fc.nat(15), { maxLength: 16 });
  const say = fc.record({
    i: fc.nat(15),
    port: fc.constantFrom(undefined, 80, 81),
    ms: fc.nat(9_000),
  });
  let doubts = 0;
  await fc.assert(
    fc.asyncProperty(imports, imports, fc.array(say, { maxLength: 8 }), async (was, is, said) => {
      const bench = new ReconcilerBench();
      for (const i of was) bench.backend.kernel.set(keyOf(i), JSON.stringify([service(i)]));
      for (const i of is) bench.set(keyOf(i), service(i, { port: 81 }));
      bench.reconciler.start();
      await quiet();
      const check = () => {
        for (const [key, services] of bench.wanted) {
          assert.equal(bench.backend.kernel.get(key), JSON.stringify(services));
        }
        assert.equal(bench.backend.kernel.size, bench.wanted.size + bench.reconciler.doubted);
      };
      doubts += bench.losses.length;
      check();
      for (const { i, port, ms } of said) {
        bench.set(keyOf(i), ...(port === undefined ? [] : [service(i, { port })]));
        await quiet();
        check();
        bench.clock.advance(ms);
        await quiet();
        check();
      }
      bench.clock.advance(DOUBT_MS);
      await quiet();
      assert.equal(bench.reconciler.doubted, 0);
      check();
      await bench.reconciler.stop();
    }),
    { numRuns: 150 },
  );
  assert.ok(doubts > 20, `${doubts} doubts`);
});
