import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { PrefixTree } from "./prefix-tree.ts";

const vip = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffffffff }),
    fc.integer({ min: 0xf1000000, max: 0xf10000ff }),
    fc.integer({ min: 0xf1000000, max: 0xf1000fff }),
  )
  .map((n) => n.toString(16).padStart(8, "0"));

/** Close together, so that one far off moves the place where the root branches. */
const near = fc.integer({ min: 0, max: 0xff }).map((n) => (0xf1000000 + n * 5).toString(16));

function contents(tree: PrefixTree): Map<string, string> {
  return new Map([...tree.prefixes()].map((p) => [p, JSON.stringify(tree.node(p))]));
}

function treeOf(vips: Iterable<string>): PrefixTree {
  const tree = new PrefixTree();
  for (const v of vips) tree.add(v);
  return tree;
}

test("every VIP is reached from the root, through nodes of at most 16 parts", () =>
  forAll([fc.uniqueArray(vip, { maxLength: 300 })], (vips) => {
    const tree = treeOf(vips);
    const reached: string[] = [];
    for (const prefix of tree.prefixes()) {
      const parts = tree.node(prefix) ?? assert.fail(`${prefix} is listed, but no node`);
      assert.ok(parts.length <= 16);
      for (const part of parts) {
        assert.ok((part.kind === "vip" ? part.vip : part.prefix).startsWith(prefix));
        if (part.kind === "vip") reached.push(part.vip);
      }
    }
    assert.deepEqual(reached.sort(), [...vips].sort());
  }));

test("add and delete record all changed nodes, and the shape does not depend on the order", () =>
  forAll(
    [
      fc.oneof(
        fc.uniqueArray(vip, { maxLength: 120 }),
        fc.uniqueArray(near, { minLength: 12, maxLength: 40 }),
      ),
      fc.oneof(fc.array(vip, { maxLength: 60 }), fc.array(fc.oneof(near, vip), { maxLength: 12 })),
    ],
    (start, toggles) => {
      const tree = treeOf(start);
      const present = new Set(start);
      tree.takeTouched();
      const kept = contents(tree);
      for (const v of toggles.flatMap((v, i) => (i % 3 === 0 ? [v, start[i] ?? v] : [v]))) {
        if (present.delete(v)) tree.delete(v);
        else {
          present.add(v);
          tree.add(v);
        }
        for (const prefix of tree.takeTouched()) {
          const node = tree.node(prefix);
          if (node === undefined) kept.delete(prefix);
          else kept.set(prefix, JSON.stringify(node));
        }
        assert.deepEqual(kept, contents(tree));
      }
      assert.deepEqual(contents(treeOf([...present].sort().reverse())), contents(tree));
    },
  ));

test("only leaves have a single part: the root, too, branches where its VIPs differ", async () => {
  await forAll([fc.uniqueArray(vip, { minLength: 17, maxLength: 80 })], (vips) => {
    const tree = treeOf(vips);
    for (const prefix of tree.prefixes()) assert.ok((tree.node(prefix)?.length ?? 0) > 1, prefix);
  });
  const spread = Array.from({ length: 17 }, (_, i) => `f1${i.toString(16).padStart(2, "0")}0001`);
  assert.deepEqual(
    [...treeOf(spread).prefixes()],
    ["", "f10"],
    "f1, which all share, is the root's own range",
  );
});

test("a touched VIP marks the one node that has it", () => {
  const vips = Array.from(
    { length: 40 },
    (_, i) => `f10000${(i * 5).toString(16).padStart(2, "0")}`,
  );
  const tree = treeOf(vips);
  tree.takeTouched();
  tree.touch("f1000005");
  const [holder, ...others] = tree.takeTouched();
  assert.deepEqual(others, []);
  assert.ok(
    tree.node(holder ?? "")?.some((part) => part.kind === "vip" && part.vip === "f1000005"),
  );
});
