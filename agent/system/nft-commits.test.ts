import assert from "node:assert/strict";
import { test } from "node:test";
import { NftCommits } from "./nft-commits.ts";

/** A kernel's count, and commits of ours and of others. */
class Kernel {
  generation = 7;
  answers = true;
  readonly commits = new NftCommits(async () => {
    if (!this.answers) throw new Error("no answer");
    return this.generation;
  });

  own(commits: number, before: Promise<void> = Promise.resolve()): Promise<void> {
    return this.commits.run(async () => {
      this.generation += commits;
      await before;
      return commits;
    });
  }
}

test("only commits of other programs change the result", async () => {
  const kernel = new Kernel();
  const first = await kernel.commits.ofOthers();
  assert.notEqual(first, undefined);
  await kernel.own(3);
  assert.equal(await kernel.commits.ofOthers(), first);
  kernel.generation++;
  const second = await kernel.commits.ofOthers();
  assert.notEqual(second, first);
  await kernel.own(1);
  assert.equal(await kernel.commits.ofOthers(), second);
});

test("the result is unknown while a transaction of ours is in flight, or began meanwhile", async () => {
  const kernel = new Kernel();
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = kernel.own(1, promise);
  assert.equal(await kernel.commits.ofOthers(), undefined);
  resolve();
  await running;
  const counting = kernel.commits.ofOthers();
  await kernel.own(1);
  assert.equal(await counting, undefined);
});

test("after a transaction that failed, nothing counts as unchanged", async () => {
  const kernel = new Kernel();
  const before = await kernel.commits.ofOthers();
  const failing = kernel.commits.run(() => Promise.reject(new Error("killed")));
  await assert.rejects(failing, { message: "killed" });
  assert.notEqual(await kernel.commits.ofOthers(), before);
});

test("without an answer of the kernel the result is unknown", async () => {
  const kernel = new Kernel();
  kernel.answers = false;
  assert.equal(await kernel.commits.ofOthers(), undefined);
});
