import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { ReconcilerBench } from "../../test/support/reconciler-bench.ts";
import { virtualService } from "../../test/support/services.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

const COMPARISON = 1_000_000;

function keyOf(i: number): ObjectKey {
  return `demo/s${i}`;
}

function service(i: number, change: Partial<VirtualService> = {}): VirtualService {
  return virtualService({ importKey: keyOf(i), ...change });
}

/** The ports that the kernel has of an import; undefined if it has nothing of it. */
function held(bench: ReconcilerBench, key: ObjectKey): VirtualService[] | undefined {
  const text = bench.backend.kernel.get(key);
  return text === undefined ? undefined : JSON.parse(text);
}

describe("a service that the kernel refuses", () => {
  let bench: ReconcilerBench;
  beforeEach(() => {
    bench = new ReconcilerBench();
    bench.backend.refuses = ({ protocol }) => protocol === "SCTP";
  });
  afterEach(() => bench.reconciler.stop());

  test("does not keep a thousand others from the kernel, two at once neither", async () => {
    for (let i = 0; i < 1000; i++) bench.set(keyOf(i), service(i));
    bench.set(keyOf(137), service(137, { protocol: "SCTP" }));
    bench.set(keyOf(861), service(861, { protocol: "SCTP" }));
    await bench.start();
    assert.equal(bench.backend.kernel.size, 998);
    assert.deepEqual(
      [...bench.aside],
      [
        ["demo/s137:http SCTP", "refused-by-kernel"],
        ["demo/s861:http SCTP", "refused-by-kernel"],
      ],
    );
    assert.deepEqual(bench.reconciler.setAside(keyOf(137)), [
      {
        importKey: "demo/s137",
        servicePort: "demo/s137:http",
        protocol: "SCTP",
        reason: "refused-by-kernel",
      },
    ]);
    assert.ok(bench.trials.length < 60, `${bench.trials.length} trials`);
    assert.equal(bench.reconciler.oldestWaiting, undefined);
  });

  test("costs its import no other port", async () => {
    bench.set(keyOf(1), service(1), service(1, { protocol: "SCTP", portName: "s", port: 81 }));
    await bench.start();
    assert.deepEqual(held(bench, keyOf(1)), [service(1)]);
  });

  test("is looked for among what had just changed", async () => {
    for (let i = 0; i < 500; i++) bench.set(keyOf(i), service(i));
    await bench.start();
    bench.set(keyOf(7), service(7, { port: 81 }));
    bench.set(keyOf(8), service(8, { protocol: "SCTP" }));
    await bench.settle();
    assert.deepEqual(bench.trials.length, 4, "all others, both, the good one, the guilty one");
    assert.deepEqual(held(bench, keyOf(7)), [service(7, { port: 81 })]);
    assert.deepEqual([...bench.aside.keys()], ["demo/s8:http SCTP"]);
  });

  test("is looked for among what had just changed, also if everything was compared just then", async () => {
    for (let i = 0; i < 500; i++) bench.set(keyOf(i), service(i));
    await bench.start();
    bench.clock.advance(COMPARISON);
    bench.set(keyOf(8), service(8, { protocol: "SCTP" }));
    await bench.settle();
    assert.deepEqual(bench.trials, [true, false], "all others, the guilty one");
  });

  test("leaves everybody else's changes as quick as they were", async () => {
    bench.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await bench.start();
    bench.backend.log.length = 0;
    bench.set(keyOf(2), service(2));
    bench.set(keyOf(1), service(1, { protocol: "SCTP", endpoints: [] }));
    await bench.settle();
    assert.deepEqual(bench.backend.log, ["apply +demo/s2"]);
  });

  test("is tried again when it changes in more than its endpoints, alone", async () => {
    bench.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await bench.start();
    bench.trials.length = 0;
    bench.set(keyOf(1), service(1, { protocol: "SCTP", vips: ["241.0.0.11"] }));
    bench.set(keyOf(2), service(2));
    await bench.settle();
    assert.deepEqual(bench.trials, [false]);
    assert.equal(bench.aside.size, 1);
    assert.deepEqual(held(bench, keyOf(2)), [service(2)]);
    bench.set(keyOf(1), service(1));
    await bench.settle();
    assert.deepEqual([bench.aside.size, held(bench, keyOf(1))], [0, [service(1)]]);
  });

  test("is tried again when its import names another scheduler", async () => {
    bench.backend.refuses = ({ scheduler }) => scheduler === "mh";
    bench.set(keyOf(1), service(1, { scheduler: "mh" }));
    await bench.start();
    assert.equal(bench.aside.size, 1);
    bench.set(keyOf(1), service(1, { scheduler: "sh" }));
    await bench.settle();
    const served = [service(1, { scheduler: "sh" })];
    assert.deepEqual([bench.aside.size, held(bench, keyOf(1))], [0, served]);
  });

  test("is not blamed for what it was when the trial began, if it has changed meanwhile", async () => {
    bench.backend.refuses = ({ portName }) => portName === "bad";
    await bench.start();
    const apply = bench.backend.apply.bind(bench.backend);
    bench.backend.apply = async (tx, believed) => {
      await apply(tx, believed).catch((error) => {
        // Two passes have failed before; this is the trial.
        if (bench.failures.length === 2) bench.set(keyOf(1), service(1));
        throw error;
      });
    };
    bench.set(keyOf(1), service(1, { portName: "bad" }));
    await bench.settle();
    assert.deepEqual(held(bench, keyOf(1)), [service(1)]);
    assert.equal(bench.aside.size, 0);
  });

  test("is not live, and counts as waiting until it is known to be the one; the others' changes count when they are live", async () => {
    bench.set(keyOf(1), service(1));
    await bench.start();
    const since = bench.clock.now();
    bench.passes.length = 0;
    bench.set(keyOf(1), service(1, { endpoints: [] }));
    bench.set(keyOf(2), service(2, { protocol: "SCTP" }));
    await bench.settle();
    const told = bench.passes.filter(({ changedAt }) => changedAt.length > 0);
    assert.deepEqual(
      told.map(({ changedAt, whole }) => [changedAt, whole]),
      [[[since, since], true]],
    );
  });

  test("is tried again with the comparison, for a module may have been loaded", async () => {
    for (let i = 0; i < 20; i++) bench.set(keyOf(i), service(i, { protocol: "SCTP" }));
    bench.set(keyOf(20), service(20));
    await bench.start();
    assert.equal(bench.aside.size, 20);
    bench.trials.length = 0;
    await bench.pass(COMPARISON);
    assert.equal(bench.aside.size, 20);
    assert.ok(bench.trials.length > 0 && bench.trials.length < 20, "not all of them one by one");
    bench.backend.refuses = () => false;
    await bench.pass(COMPARISON);
    assert.deepEqual([bench.aside.size, bench.backend.kernel.size], [0, 21]);
  });

  test("is forgotten with its import", async () => {
    bench.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await bench.start();
    bench.set(keyOf(1));
    await bench.settle();
    assert.equal(bench.aside.size, 0);
  });

  test("stays apart from one in whose place something of somebody else's is: both are told, and each ends by itself", async () => {
    const obstacle = {
      importKey: keyOf(2),
      servicePort: "demo/s2:http",
      protocol: "TCP",
      reason: "server-foreign",
      message: "demo/s2:http: ipvsadm -D -t 241.0.0.10:80",
    } as const;
    bench.backend.obstacles = () => [obstacle];
    bench.set(keyOf(1), service(1, { protocol: "SCTP" }));
    bench.set(keyOf(2), service(2));
    await bench.start();
    assert.equal(bench.aside.get("demo/s1:http SCTP"), "refused-by-kernel");
    assert.equal(bench.aside.get("demo/s2:http TCP"), "server-foreign");
    const [told] = bench.reconciler.setAside(keyOf(2));
    assert.equal(told?.error?.code, "CSP_PLACE_TAKEN");
    assert.equal(told?.error?.message, obstacle.message);
    bench.backend.obstacles = () => [];
    bench.set(keyOf(3), service(3));
    await bench.settle();
    assert.deepEqual([...bench.aside.keys()], ["demo/s1:http SCTP"]);
    assert.deepEqual(bench.reconciler.setAside(keyOf(2)), []);
  });

  test("is served without affinity if that is what is refused", async () => {
    bench.backend.refuses = ({ affinitySeconds, port }) =>
      port === 99 || affinitySeconds !== undefined;
    bench.set(keyOf(1), service(1, { affinitySeconds: 60 }));
    bench.set(keyOf(2), service(2, { affinitySeconds: 60, port: 99 }));
    bench.set(keyOf(3), service(3));
    await bench.start();
    assert.deepEqual(held(bench, keyOf(1)), [service(1)]);
    assert.equal(held(bench, keyOf(2)), undefined);
    assert.deepEqual(
      [...bench.aside],
      [
        ["demo/s1:http TCP", "affinity-unsupported"],
        ["demo/s2:http TCP", "refused-by-kernel"],
      ],
    );
    bench.set(keyOf(1), service(1, { affinitySeconds: 60, endpoints: [] }));
    await bench.settle();
    assert.deepEqual(held(bench, keyOf(1)), [service(1, { endpoints: [] })]);
    bench.backend.refuses = () => false;
    await bench.pass(COMPARISON);
    assert.equal(held(bench, keyOf(1))?.[0]?.affinitySeconds, 60);
    assert.equal(bench.aside.size, 0);
  });

  test("by its affinity does not have a node without such memory try all others one by one", async () => {
    bench.backend.refuses = ({ affinitySeconds }) => affinitySeconds !== undefined;
    for (let i = 0; i < 300; i++) bench.set(keyOf(i), service(i, { affinitySeconds: 60 }));
    await bench.start();
    assert.deepEqual([bench.backend.kernel.size, bench.aside.size], [300, 300]);
    assert.ok(bench.trials.length < 60, `${bench.trials.length} trials`);
  });

  test("is not blamed for a kernel that takes nothing at all", async () => {
    bench.backend.kernel.set("demo/left-over", "[]");
    bench.set(keyOf(1), service(1));
    const apply = bench.backend.apply.bind(bench.backend);
    let refusals = 0;
    bench.backend.apply = (tx, believed) => {
      bench.backend.refuses = () => refusals++ < 8;
      if (tx.writes === 0 && refusals < 8) bench.backend.faults.push("refused");
      return apply(tx, believed);
    };
    await bench.start();
    assert.equal(bench.aside.size, 0);
    assert.deepEqual(held(bench, keyOf(1)), [service(1)]);
    assert.ok(!bench.trials.includes(false), "nobody was tried as long as it was so");
  });

  test("is not looked for if nobody has refused anything", async () => {
    bench.set(keyOf(1), service(1));
    bench.backend.faults.push("before", "before", "before", "before");
    await bench.start();
    assert.deepEqual([bench.trials, bench.aside.size, bench.failures.length], [[], 0, 4]);
  });

  test("is hidden from who follows; what is held back is not said to be gone", async () => {
    bench.set(keyOf(1), service(1));
    await bench.start();
    bench.followed.length = 0;
    bench.set(keyOf(1), service(1), service(1, { protocol: "SCTP", portName: "s", port: 81 }));
    await bench.settle();
    const refusals = bench.failures.length + bench.trials.filter((accepted) => !accepted).length;
    assert.equal(bench.followed.filter((line) => line === "failed").length, refusals);
    const proposals = bench.followed.filter((line) => line.startsWith("demo/s1"));
    assert.ok(!proposals.includes("demo/s1 0"));
    assert.equal(bench.followed.at(-1), "accepted all");
    assert.equal(proposals.at(-1), "demo/s1 1");
  });
});

test("whoever is guilty: they are set aside, all others live, and nothing good is ever taken away", async () => {
  const change = fc.record({
    i: fc.integer({ min: 0, max: 11 }),
    port: fc.integer({ min: 80, max: 82 }),
    affine: fc.boolean(),
  });
  const property = fc.asyncProperty(
    fc.uniqueArray(fc.integer({ min: 0, max: 11 }), { maxLength: 6 }),
    fc.boolean(),
    fc.array(fc.array(change, { minLength: 1, maxLength: 5 }), { maxLength: 4 }),
    fc.array(fc.constantFrom("before" as const, "after" as const, undefined), { maxLength: 3 }),
    async (guilty, noMemory, rounds, faults) => {
      const bench = new ReconcilerBench();
      const bad = (one: VirtualService) => guilty.some((i) => keyOf(i) === one.importKey);
      bench.backend.refuses = (one) =>
        (bad(one) && one.port !== 80) || (noMemory && one.affinitySeconds !== undefined);
      for (let i = 0; i < 12; i++) bench.set(keyOf(i), service(i));
      await bench.start();
      const apply = bench.backend.apply.bind(bench.backend);
      const good = (i: number) => {
        const wanted = new Set((bench.wanted.get(keyOf(i)) ?? []).map(({ port }) => port));
        return (held(bench, keyOf(i)) ?? []).filter((one) => wanted.has(one.port) && !bad(one));
      };
      bench.backend.apply = async (tx, believed) => {
        const before = [...Array(12).keys()].map((i) => good(i).length);
        await apply(tx, believed);
        for (const [i, count] of before.entries()) assert.ok(good(i).length >= count, keyOf(i));
      };
      bench.backend.faults.push(...faults);
      for (const round of rounds) {
        for (const { i, port, affine } of round) {
          bench.set(keyOf(i), service(i, { port, ...(affine && { affinitySeconds: 60 }) }));
        }
        await bench.settle();
      }
      const refused = (one: VirtualService) => bad(one) && one.port !== 80;
      for (const [key, services] of bench.wanted) {
        const expected = services
          .filter((one) => !refused(one))
          .map(({ affinitySeconds, ...plain }) => ({
            ...plain,
            ...(affinitySeconds !== undefined && !noMemory && { affinitySeconds }),
          }));
        assert.deepEqual(held(bench, key) ?? [], expected);
      }
      assert.deepEqual(
        bench.failures.filter(({ error }) => error instanceof assert.AssertionError),
        [],
      );
      await bench.reconciler.stop();
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
