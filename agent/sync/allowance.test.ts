import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { quiet } from "../../test/support/fake-backend.ts";
import { ReconcilerBench } from "../../test/support/reconciler-bench.ts";
import { virtualService } from "../../test/support/services.ts";

/** What the search may cost in ten minutes, as design 5 promises. */
const MOST_REFUSED = 256;
const INNOCENT: ObjectKey = "demo/innocent";

describe("whoever invents services without end that the kernel refuses", () => {
  let bench: ReconcilerBench;
  let invented = 0;

  beforeEach(async () => {
    bench = new ReconcilerBench();
    bench.backend.refuses = ({ protocol }) => protocol === "SCTP";
    invented = 0;
    bench.want(INNOCENT, 80);
    bench.want("demo/bystander", 80);
    await bench.start();
  });
  afterEach(() => bench.reconciler.stop());

  /** Invents one more, and lets a second pass. */
  async function invent(): Promise<void> {
    const importKey: ObjectKey = `evil/s${invented++}`;
    bench.set(importKey, virtualService({ importKey, protocol: "SCTP" }));
    for (let i = 0; i < 10; i++) {
      bench.clock.advance(100);
      await quiet();
    }
  }

  function refusedTrials(): number {
    return bench.trials.filter((accepted) => !accepted).length;
  }

  test("gets no more than 256 trials in ten minutes, and the rest after that", async () => {
    while (invented < MOST_REFUSED + 10) await invent();
    assert.equal(refusedTrials(), MOST_REFUSED);
    bench.clock.advance(600_000);
    await bench.settle();
    assert.equal(refusedTrials(), MOST_REFUSED + 10);
    assert.equal(bench.aside.size, MOST_REFUSED + 10);
  });

  test("keeps nobody's changes from the kernel, not even when all trials are used up", async () => {
    while (invented < MOST_REFUSED + 2) await invent();
    const apply = bench.backend.apply.bind(bench.backend);
    let refusals = 0;
    bench.backend.apply = async (tx, believed) => {
      await apply(tx, believed).catch((error) => {
        // Once suspects are named, one that was set aside before asks for another trial, too.
        const again = { importKey: "evil/s0", protocol: "SCTP", vips: ["241.9.9.9"] } as const;
        if (++refusals === 2) bench.set("evil/s0", virtualService(again));
        throw error;
      });
    };
    await invent();
    bench.set(INNOCENT, virtualService({ importKey: INNOCENT, endpoints: [] }));
    await quiet();
    assert.deepEqual(
      bench.has(INNOCENT).map(({ endpoints }) => endpoints),
      [[]],
    );
  });
});
