import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PrefixTree } from "./prefix-tree.ts";

const vip = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffffffff }),
    fc.integer({ min: 0xf1000000, max: 0xf10000ff }),
    fc.integer({ min: 0xf1000000, max: 0xf1000fff }),
  )
  .map((n) => n.toString(16).padStart(8, "0"));

function contents(tree: PrefixTree): Map<string, string> {
  return new Map([...tree.prefixes()].map((p) => [p, JSON.stringify(tree.node(p))]));
}

function treeOf(vips: Iterable<string>): PrefixTree {
  const tree = new PrefixTree();
  for (const v of vips) tree.add(v);
  return tree;
}

test("every VIP is reached from the root, through nodes of at most 16 parts", () => {
  fc.assert(
    fc.property(fc.uniqueArray(vip, { maxLength: 300 }), (vips) => {
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
    }),
  );
});

test("what add and delete note is all that changes, and the shape forgets the order", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(vip, { maxLength: 120 }),
      fc.array(vip, { maxLength: 60 }),
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
          assert.deepEqual(new Map([...kept].sort()), new Map([...contents(tree)].sort()));
        }
        assert.deepEqual(contents(treeOf([...present].sort().reverse())), contents(tree));
      },
    ),
  );
});

test("a VIP that is touched marks the one node that looks at it", () => {
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

test("10,000 spread VIPs are six nodes deep at most, with half as many nodes as VIPs", () => {
  const vips = Array.from({ length: 10000 }, (_, i) =>
    (0xf1000000 + ((i * 2654435761) % 0x1000000)).toString(16),
  );
  const tree = treeOf(new Set(vips));
  const depth = (prefix: string): number =>
    1 +
    Math.max(0, ...(tree.node(prefix) ?? []).map((p) => (p.kind === "node" ? depth(p.prefix) : 0)));
  assert.ok(depth("") <= 6, String(depth("")));
  assert.ok([...tree.prefixes()].length < vips.length / 2);
});
