import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { comment, withProbability } from "./rule.ts";

/** xt_statistic keeps a chance as a count of 1 / 2^31. */
function counted(probability: number): number {
  return Math.round(probability * 2 ** 31);
}

describe("withProbability", () => {
  const KNOWN = [
    [2, "0.50000000000"],
    [3, "0.33333333349"],
    [7, "0.14285714272"],
    [10, "0.10000000009"],
    [1000, "0.00100000016"],
    [4096, "0.00024414062"],
  ] as const;
  for (const [n, probability] of KNOWN) {
    test(`of 1/${n} is ${probability}, as iptables-save prints it`, () => {
      assert.equal(
        withProbability(1 / n),
        `-m statistic --mode random --probability ${probability}`,
      );
    });
  }

  test("of any number of endpoints is read back as the same chance", () => {
    for (let n = 2; n <= 5000; n++) {
      const probability = Number(
        withProbability(1 / n)
          .split(" ")
          .at(-1),
      );
      assert.equal(counted(probability), counted(1 / n), String(n));
    }
  });
});

describe("comment", () => {
  test("is quoted where iptables-save quotes, and only there", () => {
    assert.equal(comment("hairpin"), "-m comment --comment hairpin");
    assert.equal(comment("clusterset-proxy"), "-m comment --comment clusterset-proxy");
    assert.equal(comment("a_B-9"), "-m comment --comment a_B-9");
    assert.equal(comment("demo/serve"), '-m comment --comment "demo/serve"');
    assert.equal(comment("two words"), '-m comment --comment "two words"');
    assert.equal(comment("a.b"), '-m comment --comment "a.b"');
  });

  test("of 255 characters is kept, and a longer one is cut to 255, with an ellipsis", () => {
    const kept = "x".repeat(255);
    assert.equal(comment(kept), `-m comment --comment ${kept}`);
    assert.equal(comment(`${kept}x`), `-m comment --comment "${"x".repeat(252)}..."`);
    assert.equal(comment(kept.repeat(9)), comment(`${kept}x`));
  });
});
