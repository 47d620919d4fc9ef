import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { codeOf } from "../../common/errors.ts";
import { virtualService } from "../../test/generators/services.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";
import { UNLIMITED } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** Longer than the longest wait before quarantined services are tried again. */
const RETRY = 1_000_000;

function keyOf(i: number): ObjectKey {
  return `demo/s${i}`;
}

function service(i: number, change: Partial<VirtualService> = {}): VirtualService {
  return virtualService({ importKey: keyOf(i), ...change });
}

describe("a service that the kernel rejects", () => {
  let stage: ReconcilerStage;
  beforeEach(() => {
    stage = new ReconcilerStage();
    stage.table.refuses = ({ protocol }) => protocol === "SCTP";
  });
  afterEach(() => stage.reconciler.stop());

  test("two among a thousand keep no other service out of the kernel", async () => {
    for (let i = 0; i < 1000; i++) stage.set(keyOf(i), service(i));
    stage.set(keyOf(137), service(137, { protocol: "SCTP" }));
    stage.set(keyOf(861), service(861, { protocol: "SCTP" }));
    await stage.start();
    assert.equal(stage.table.kernel.size, 998);
    assert.deepEqual(Object.fromEntries(stage.quarantined), {
      "demo/s137:http SCTP": "refused-by-kernel",
      "demo/s861:http SCTP": "refused-by-kernel",
    });
    const [found] = stage.reconciler.quarantined(keyOf(137));
    assert.equal(found?.servicePort, "demo/s137:http");
    assert.equal(found?.reason, "refused-by-kernel");
    assert.equal(codeOf(found?.error), "CSP_RESTORE_EXITED", "what the tool reported is kept");
    assert.ok(stage.trials.length < 60, `${stage.trials.length} attempts`);
    assert.equal(stage.reconciler.oldestWaiting, undefined);
  });

  test("does not affect other ports of its import", async () => {
    stage.set(keyOf(1), service(1), service(1, { protocol: "SCTP", portName: "s", port: 81 }));
    await stage.start();
    assert.deepEqual(stage.has(keyOf(1)), [service(1)]);
  });

  test("is searched for among recent changes, and existing rules stay meanwhile", async () => {
    for (let i = 0; i < 500; i++) stage.set(keyOf(i), service(i));
    await stage.start();
    stage.set(keyOf(7), service(7, { port: 81 }));
    stage.set(keyOf(8), service(8, { protocol: "SCTP" }));
    await stage.settle();
    assert.equal(stage.trials.length, 4, "all others, both, the good one, the offender");
    assert.deepEqual(stage.has(keyOf(7)), [service(7, { port: 81 })]);
    assert.deepEqual([...stage.quarantined.keys()], ["demo/s8:http SCTP"]);
  });

  test("delays no change of other services once it is quarantined", async () => {
    stage.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await stage.start();
    stage.table.log.length = 0;
    stage.set(keyOf(2), service(2));
    stage.set(keyOf(1), service(1, { protocol: "SCTP", endpoints: [] }));
    await stage.settle();
    assert.deepEqual(stage.table.log, ["apply +demo/s2"]);
  });

  test("is tried again when it changes in more than its endpoints", async () => {
    stage.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await stage.start();
    stage.set(keyOf(1), service(1, { protocol: "SCTP", vips: ["241.0.0.11"] }));
    stage.set(keyOf(2), service(2));
    await stage.settle();
    assert.equal(stage.quarantined.size, 1);
    assert.deepEqual(stage.has(keyOf(2)), [service(2)]);
    stage.set(keyOf(1), service(1));
    await stage.settle();
    assert.deepEqual([stage.quarantined.size, stage.has(keyOf(1))], [0, [service(1)]]);
  });

  test("is tried again when its import names another scheduler", async () => {
    stage.table.refuses = ({ scheduler }) => scheduler === "mh";
    stage.set(keyOf(1), service(1, { scheduler: "mh" }));
    await stage.start();
    assert.equal(stage.quarantined.size, 1);
    stage.set(keyOf(1), service(1, { scheduler: "sh" }));
    await stage.settle();
    const served = [service(1, { scheduler: "sh" })];
    assert.deepEqual([stage.quarantined.size, stage.has(keyOf(1))], [0, served]);
  });

  test("is not blamed if its import changed during the attempt", async () => {
    stage.table.refuses = ({ portName }) => portName === "bad";
    await stage.start();
    const write = stage.table.write.bind(stage.table);
    stage.table.write = async (change) => {
      await write(change).catch((error) => {
        if (stage.trials.length > 0) stage.set(keyOf(1), service(1));
        throw error;
      });
    };
    stage.set(keyOf(1), service(1, { portName: "bad" }));
    await stage.settle();
    assert.deepEqual(stage.has(keyOf(1)), [service(1)]);
    assert.equal(stage.quarantined.size, 0);
  });

  test("its change and those that came with it count once all others are live", async () => {
    stage.set(keyOf(1), service(1));
    await stage.start();
    const since = stage.clock.now();
    stage.passes.length = 0;
    stage.set(keyOf(1), service(1, { endpoints: [] }));
    stage.set(keyOf(2), service(2, { protocol: "SCTP" }));
    await stage.settle();
    const counted = stage.passes.map(({ changedAt }) => changedAt);
    assert.deepEqual(
      counted.filter(({ length }) => length > 0),
      [[since, since]],
    );
  });

  test("is tried again with backoff, a few at a time; when they are accepted, all others follow", async () => {
    for (let i = 0; i < 20; i++) stage.set(keyOf(i), service(i, { protocol: "SCTP" }));
    stage.set(keyOf(20), service(20));
    await stage.start();
    assert.equal(stage.quarantined.size, 20);
    stage.trials.length = 0;
    stage.failures.length = 0;
    await stage.pass(RETRY);
    assert.equal(stage.quarantined.size, 20);
    const first = stage.trials.length;
    assert.ok(first > 0 && first < 120, `${first} attempts`);
    await stage.pass(RETRY);
    assert.ok(stage.trials.length - first < first, "less often as time passes");
    assert.deepEqual(stage.failures, [], "a retry that is rejected is no news");
    stage.table.refuses = () => false;
    await stage.pass(RETRY);
    assert.deepEqual([stage.quarantined.size, stage.table.kernel.size], [0, 21]);
  });

  test("is forgotten with its import", async () => {
    stage.set(keyOf(1), service(1, { protocol: "SCTP" }));
    await stage.start();
    stage.set(keyOf(1));
    await stage.settle();
    assert.equal(stage.quarantined.size, 0);
    await stage.pass(RETRY);
    assert.equal(stage.clock.pending, 2, "only the next check and the next comparison");
  });

  test("and one with a foreign object in its place are reported, and end, independently", async () => {
    const conflict = {
      importKey: keyOf(2),
      servicePort: "demo/s2:http",
      protocol: "TCP",
      reason: "server-foreign",
      message: "demo/s2:http: ipvsadm -D -t 241.0.0.10:80",
    } as const;
    stage.table.foreign = [conflict];
    stage.set(keyOf(1), service(1, { protocol: "SCTP" }));
    stage.set(keyOf(2), service(2));
    await stage.start();
    assert.equal(stage.quarantined.get("demo/s1:http SCTP"), "refused-by-kernel");
    assert.equal(stage.quarantined.get("demo/s2:http TCP"), "server-foreign");
    const [found] = stage.reconciler.quarantined(keyOf(2));
    assert.equal(codeOf(found?.error), "CSP_PLACE_TAKEN");
    assert.match(String(found?.error), /ipvsadm -D/);
    stage.table.foreign = [];
    stage.set(keyOf(3), service(3));
    await stage.settle();
    assert.deepEqual([...stage.quarantined.keys()], ["demo/s1:http SCTP"]);
    assert.deepEqual(stage.reconciler.quarantined(keyOf(2)), []);
  });

  test("is programmed without affinity if the kernel rejects that", async () => {
    stage.table.refuses = ({ affinitySeconds, port }) =>
      port === 99 || affinitySeconds !== undefined;
    stage.set(keyOf(1), service(1, { affinitySeconds: 60 }));
    stage.set(keyOf(2), service(2, { affinitySeconds: 60, port: 99 }));
    stage.set(keyOf(3), service(3));
    await stage.start();
    assert.deepEqual(stage.has(keyOf(1)), [service(1)]);
    assert.deepEqual(stage.has(keyOf(2)), []);
    assert.deepEqual(Object.fromEntries(stage.quarantined), {
      "demo/s1:http TCP": "affinity-unsupported",
      "demo/s2:http TCP": "refused-by-kernel",
    });
    stage.set(keyOf(1), service(1, { affinitySeconds: 60, endpoints: [] }));
    await stage.settle();
    assert.deepEqual(stage.has(keyOf(1)), [service(1, { endpoints: [] })]);
    stage.table.refuses = () => false;
    await stage.pass(RETRY);
    assert.equal(stage.has(keyOf(1))[0]?.affinitySeconds, 60);
    assert.equal(stage.quarantined.size, 0);
  });

  test("for its affinity costs a few attempts, however many services have affinity", async () => {
    stage.table.refuses = ({ affinitySeconds }) => affinitySeconds !== undefined;
    for (let i = 0; i < 300; i++) stage.set(keyOf(i), service(i, { affinitySeconds: 60 }));
    await stage.start();
    assert.deepEqual([stage.table.kernel.size, stage.quarantined.size], [300, 300]);
    assert.ok(stage.trials.length < 6, `${stage.trials.length} attempts`);
  });

  test("is not blamed for a kernel that accepts nothing at all", async () => {
    stage.table.kernel.set("demo/left-over", "[]");
    stage.set(keyOf(1), service(1));
    for (let i = 0; i < 6; i++) stage.table.faults.push(undefined, "refused");
    await stage.start();
    assert.equal(stage.quarantined.size, 0);
    assert.deepEqual(stage.has(keyOf(1)), [service(1)]);
    assert.ok(stage.failures.length > 1, "each is a failure, with backoff");
  });

  test("is not searched for after a failure that is no rejection", async () => {
    stage.set(keyOf(1), service(1));
    stage.table.faults.push("before", "before", "before", "before");
    await stage.start();
    assert.deepEqual([stage.trials, stage.quarantined.size, stage.failures.length], [[], 0, 4]);
  });

  test("is not proposed to the follower, and no service under suspicion is reported as gone", async () => {
    stage.set(keyOf(1), service(1));
    await stage.start();
    stage.followed.length = 0;
    stage.set(keyOf(1), service(1), service(1, { protocol: "SCTP", portName: "s", port: 81 }));
    await stage.settle();
    const proposals = stage.followed.filter((line) => line.startsWith("demo/s1"));
    assert.ok(!proposals.includes("demo/s1 0"));
    assert.equal(stage.followed.filter((line) => line === "failed").length, 1);
    assert.equal(stage.followed.at(-1), "accepted all");
    assert.equal(proposals.at(-1), "demo/s1 1");
  });
});

describe("what the node does not support", () => {
  test("is left out of every service without an attempt, and tried again when the node supports it", async () => {
    const stage = new ReconcilerStage();
    stage.limits = { affinity: false, protocols: new Set(["TCP", "UDP"]) };
    stage.table.refuses = ({ protocol, affinitySeconds }) =>
      protocol === "SCTP" || affinitySeconds !== undefined;
    stage.set(keyOf(1), service(1, { affinitySeconds: 60 }));
    stage.set(keyOf(2), service(2), service(2, { protocol: "SCTP", portName: "s", port: 81 }));
    await stage.start();
    assert.deepEqual(stage.trials, []);
    assert.deepEqual(stage.has(keyOf(1)), [service(1)]);
    assert.deepEqual(stage.has(keyOf(2)), [service(2)]);
    assert.deepEqual(Object.fromEntries(stage.quarantined), {
      "demo/s1:http TCP": "affinity-unsupported",
      "demo/s2:s SCTP": "refused-by-kernel",
    });
    stage.table.log.length = 0;
    await stage.pass(60_000);
    assert.deepEqual(stage.table.log, [], "the node is asked again, and nothing is written");
    stage.table.refuses = () => false;
    stage.limits = UNLIMITED;
    await stage.pass(120_000);
    assert.equal(stage.quarantined.size, 0);
    assert.equal(stage.has(keyOf(2)).length, 2);
    await stage.reconciler.stop();
  });
});

test("a search that is cut short continues after the next pass; meanwhile suspects keep their existing rules", async () => {
  const stage = new ReconcilerStage();
  stage.table.refuses = ({ protocol }) => protocol === "SCTP";
  const good = [...Array(100).keys()].filter((i) => i % 2 === 1);
  for (const i of good) stage.set(keyOf(i), service(i));
  await stage.start();
  const write = stage.table.write.bind(stage.table);
  let attempts = 0;
  stage.table.write = async (change) => {
    attempts++;
    stage.clock.standStill(1_000);
    await write(change);
    for (const i of good) assert.equal(stage.has(keyOf(i)).length, 1, "no service without rules");
  };
  for (let i = 0; i < 100; i++) {
    stage.set(keyOf(i), service(i, i % 2 === 0 ? { protocol: "SCTP" } : { portName: "new" }));
  }
  await stage.pass(300_000, 5_000);
  assert.ok(attempts > 60, "more than one search");
  assert.equal(stage.quarantined.size, 50);
  for (const i of good) assert.deepEqual(stage.has(keyOf(i)), [service(i, { portName: "new" })]);
  const failures = stage.failures.map(({ error }) => codeOf(error));
  assert.deepEqual(failures, ["CSP_RESTORE_EXITED"], "reported once");
  assert.ok(stage.followed.includes("kept new"), "connections of kept rules are not stale");
  await stage.reconciler.stop();
});

test("new offenders without end do not keep another service's change waiting", async () => {
  const stage = new ReconcilerStage();
  stage.table.refuses = ({ protocol }) => protocol === "SCTP";
  await stage.start();
  const write = stage.table.write.bind(stage.table);
  let arrived = 0;
  let arrivedWhenLive: number | undefined;
  stage.table.write = async (change) => {
    // One more arrives with each transaction.
    if (arrived < 300) {
      const importKey = keyOf(1_000 + arrived++);
      stage.set(importKey, service(1, { importKey, protocol: "SCTP" }));
    }
    if (arrived === 20) stage.set(keyOf(2), service(2));
    await write(change);
    if (stage.has(keyOf(2)).length > 0) arrivedWhenLive ??= arrived;
  };
  stage.set(keyOf(1), service(1));
  await stage.settle();
  assert.ok(arrivedWhenLive !== undefined && arrivedWhenLive < 100, `${arrivedWhenLive}`);
  assert.equal(stage.quarantined.size, 300);
  await stage.reconciler.stop();
});

test("any rejected services are quarantined, all others are live, and no valid rule is ever deleted", async () => {
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
    async (offenders, noAffinity, rounds, faults) => {
      const stage = new ReconcilerStage();
      const bad = (one: VirtualService) => offenders.some((i) => keyOf(i) === one.importKey);
      stage.table.refuses = (one) =>
        (bad(one) && one.port !== 80) || (noAffinity && one.affinitySeconds !== undefined);
      for (let i = 0; i < 12; i++) stage.set(keyOf(i), service(i));
      await stage.start();
      const write = stage.table.write.bind(stage.table);
      const good = (i: number) => {
        const desired = new Set((stage.wanted.get(keyOf(i)) ?? []).map(({ port }) => port));
        return stage.has(keyOf(i)).filter((one) => desired.has(one.port) && !bad(one));
      };
      stage.table.write = async (change) => {
        const before = [...Array(12).keys()].map((i) => good(i).length);
        await write(change);
        for (const [i, count] of before.entries()) assert.ok(good(i).length >= count, keyOf(i));
      };
      stage.table.faults.push(...faults);
      for (const round of rounds) {
        for (const { i, port, affine } of round) {
          stage.set(keyOf(i), service(i, { port, ...(affine && { affinitySeconds: 60 }) }));
        }
        await stage.settle();
      }
      const refused = (one: VirtualService) => bad(one) && one.port !== 80;
      for (const [key, services] of stage.wanted) {
        const expected = services
          .filter((one) => !refused(one))
          .map(({ affinitySeconds, ...plain }) => ({
            ...plain,
            ...(affinitySeconds !== undefined && !noAffinity && { affinitySeconds }),
          }));
        assert.deepEqual(stage.has(key), expected);
      }
      assert.deepEqual(
        stage.failures.filter(({ error }) => error instanceof assert.AssertionError),
        [],
      );
      await stage.reconciler.stop();
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
