import assert from "node:assert/strict";
import { test } from "node:test";
import { withRotation } from "./rotation-message.ts";

const DRAIN = {
  cluster: "c.1",
  drain: { where: "Lease of c.1", from: 0, until: 60_000, by: "ann", reason: "a. b" },
};

test("a message names stale and drained clusters, and those of before no more", () => {
  const both = withRotation("Headless.", [DRAIN], ["c.1", "c2"]);
  assert.equal(
    both,
    "Headless. Stale: c.1, c2. Drained: c.1 until 1970-01-01T00:01:00.000Z by ann (a. b).",
  );
  assert.equal(withRotation(both, [], ["c3"]), "Headless. Stale: c3.");
  assert.equal(withRotation(both), "Headless.");
});

test("a message names ten clusters at most", () => {
  const ids = Array.from({ length: 12 }, (_, i) => `c${i}`);
  const message = "A. Stale: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, and 2 more.";
  assert.equal(withRotation("A.", [], ids), message);
});
