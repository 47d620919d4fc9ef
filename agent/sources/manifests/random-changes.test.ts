import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { forMany } from "../../../test/generators/for-all.ts";
import { importText, ManifestsStage, sliceText } from "../../../test/stages/manifests-stage.ts";

const NAMES = ["a.yaml", "b.yml", "c.json", "d.yaml"];

/** Good contents, bad ones, and every half of a good one. */
const content = fc
  .array(
    fc.oneof(
      fc
        .tuple(fc.constantFrom("serve", "other"), fc.nat(9))
        .map(([n, i]) => importText(n, `241.0.0.${i}`)),
      fc.tuple(fc.constantFrom("x", "y"), fc.nat(9)).map(([n, i]) => sliceText(n, `10.0.0.${i}`)),
      fc.constantFrom("a: [\n", "\0", "kind: 7\n", "a: &a [*a]\n"),
    ),
    { maxLength: 3 },
  )
  .map((parts) => parts.join("---\n"));

const operation = fc.record({
  act: fc.constantFrom("place", "rewrite", "rename", "remove", "wait", "look", "deafen"),
  name: fc.constantFrom(...NAMES),
  other: fc.constantFrom(...NAMES),
  content,
  ms: fc.nat(120),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});
type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never;

async function perform(stage: ManifestsStage, step: number, what: Operation): Promise<void> {
  const { act, name, other, ms, share } = what;
  // Of a length of its own: stat cannot tell two contents of one length within one tick of its clock.
  const text = what.content === "" ? "" : `${what.content}#${"#".repeat(step)}\n`;
  switch (act) {
    case "place":
      return stage.place(name, text);
    case "rewrite":
      stage.rewrite(name, text.slice(0, text.length * share));
      if (ms % 2 === 0) await stage.wait(ms % 50);
      return stage.rewrite(name, text);
    case "rename":
      return stage.exists(name) ? stage.rename(name, other) : undefined;
    case "remove":
      return stage.remove(name);
    case "wait":
      return stage.wait(ms);
    case "look":
      return stage.look();
    case "deafen":
      stage.deaf = !stage.deaf;
  }
}

describe("a source that watches a directory through any changes", () => {
  it("ends in the same state as a new start, except for broken files", () =>
    forMany(100, [fc.array(operation, { maxLength: 25 })], async (operations) => {
      using stage = new ManifestsStage();
      await stage.start();
      for (const [step, what] of operations.entries()) await perform(stage, step, what);
      // What is broken keeps its last good content, which depends on the way; a fresh start has none.
      await stage.settle();
      for (const { file } of stage.source.brokenFiles()) stage.remove(file);
      await stage.settle();
      using fresh = new ManifestsStage(stage.directory);
      await fresh.start();
      await fresh.settle();
      assert.deepEqual(stage.told.world(), fresh.told.world());
      assert.equal(stage.told.words.filter((word) => word === "listed").length, 1);
      assert.deepEqual(stage.source.brokenFiles(), []);
    }));
});
