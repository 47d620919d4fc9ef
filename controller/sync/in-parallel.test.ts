import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { inParallel } from "./in-parallel.ts";

/** Number of attempts for a hundred items, if each fails for this reason. */
async function tried(reason: FaultReason): Promise<number> {
  let count = 0;
  const work = async (): Promise<void> => {
    count++;
    throw new ApiFault(reason, `The ${count}th`);
  };
  await assert.rejects(inParallel(Array(100).keys(), work), { reason, message: "The 1th" });
  return count;
}

test("all items are tried and the first error is thrown; without an answer the rest is skipped", async () => {
  assert.equal(await tried("write-conflict"), 100);
  assert.equal(await tried("refused"), 100);
  for (const reason of ["stalled", "unreachable"] as const) {
    assert.ok((await tried(reason)) <= 8, reason);
  }
});
