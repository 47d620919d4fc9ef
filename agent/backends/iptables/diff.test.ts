import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finished } from "../backend.ts";
import { diff } from "./diff.ts";
import { type ChainKey, type Changes, digestOf, type Jump, type KernelState } from "./state.ts";

const A: ChainKey = "nat CSP-A";
const B: ChainKey = "nat CSP-B";
const GUARD: ChainKey = "filter CSP-GUARD";
const TO_A: Jump = "nat PREROUTING -d 241.0.0.0/8 -j CSP-A";
const TO_GUARD: Jump = "filter FORWARD -d 241.0.0.0/8 -j CSP-GUARD";

type Chains = Readonly<Partial<Record<ChainKey, readonly string[] | undefined>>>;

function stateOf(chains: Chains = {}, jumps: readonly Jump[] = []): KernelState {
  const digests = Object.entries(chains).map(
    ([key, rules]) => [key as ChainKey, digestOf(rules ?? [])] as const,
  );
  return { chains: new Map(digests), jumps };
}

function changes(chains: Chains, jumps?: readonly Jump[], complete = false): Changes {
  const wanted = new Map(Object.entries(chains) as [ChainKey, readonly string[] | undefined][]);
  return { complete, chains: wanted, ...(jumps !== undefined && { jumps }) };
}

describe("a transaction", () => {
  test("deletes the guard after the DNAT", () => {
    const tx = finished(
      diff(stateOf({ [A]: [], [GUARD]: [] }, [TO_GUARD, TO_A]), changes({}, [], true)),
    );
    assert.equal(
      tx.toString(),
      `*nat
:CSP-A - [0:0]
-D PREROUTING -d 241.0.0.0/8 -j CSP-A
-X CSP-A
COMMIT
*filter
:CSP-GUARD - [0:0]
-D FORWARD -d 241.0.0.0/8 -j CSP-GUARD
-X CSP-GUARD
COMMIT
`,
    );
    assert.deepEqual([tx.writes, tx.deletes], [0, 4]);
  });

  test("adds a new guard before the DNAT changes, and deletes the old one after that", () => {
    const text = finished(
      diff(
        stateOf({ "filter CSP-OLD": [] }, ["filter FORWARD -j CSP-OLD"]),
        changes({ [GUARD]: [], "filter CSP-OLD": undefined, [A]: [] }, [TO_GUARD]),
      ),
    ).toString();
    assert.deepEqual(text.match(/^(\*.*|.*(GUARD|OLD|CSP-A).*)$/gm), [
      "*filter",
      ":CSP-GUARD - [0:0]",
      "-I FORWARD 1 -d 241.0.0.0/8 -j CSP-GUARD",
      "*nat",
      ":CSP-A - [0:0]",
      "*filter",
      ":CSP-OLD - [0:0]",
      "-D FORWARD -j CSP-OLD",
      "-X CSP-OLD",
    ]);
  });

  test("declares chains in the order of their names, deleted ones included", () => {
    const text = finished(
      diff(
        stateOf({ "nat CSP-C": [] }),
        changes({
          "nat CSP-D": ["-A CSP-D -j RETURN"],
          "nat CSP-a": [],
          [B]: [],
          "nat CSP-C": undefined,
          "nat CSP-241.0.0.0/8": [],
        }),
      ),
    ).toString();
    assert.deepEqual(text.match(/^:\S+/gm), [
      ":CSP-241.0.0.0/8",
      ":CSP-B",
      ":CSP-C",
      ":CSP-D",
      ":CSP-a",
    ]);
  });

  test("deletes other chains only if the changes are complete", () => {
    const kernel = stateOf({ [A]: [], [B]: [] });
    assert.equal(finished(diff(kernel, changes({ [A]: [] }))).empty, true);
    assert.deepEqual(
      finished(diff(kernel, changes({ [A]: [] }, [], true)))
        .toString()
        .match(/^-X .*$/gm),
      ["-X CSP-B"],
    );
  });
});

describe("jumps", () => {
  const lines = (present: readonly Jump[], wanted: readonly Jump[]) =>
    finished(diff(stateOf({}, present), changes({}, wanted)))
      .toString()
      .match(/^-.*$/gm) ?? [];

  test("that are duplicated are replaced by one at the head", () => {
    assert.deepEqual(lines([TO_A, TO_A, TO_A], [TO_A]), [
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-I PREROUTING 1 -d 241.0.0.0/8 -j CSP-A",
    ]);
  });

  test("in other chains are deleted", () => {
    assert.deepEqual(lines([TO_A, "nat INPUT -j CSP-A", "filter CUSTOM -g CSP-GUARD"], [TO_A]), [
      "-D INPUT -j CSP-A",
      "-D CUSTOM -g CSP-GUARD",
    ]);
  });

  test("behind a shadowing rule move to the head, and no others move", () => {
    const kernel = { ...stateOf({}, [TO_GUARD, TO_A]), behind: new Map([[TO_GUARD, "Docker"]]) };
    const tx = finished(diff(kernel, changes({}, [TO_A, TO_GUARD])));
    assert.equal(
      tx.toString(),
      `*filter
-D FORWARD -d 241.0.0.0/8 -j CSP-GUARD
-I FORWARD 1 -d 241.0.0.0/8 -j CSP-GUARD
COMMIT
`,
    );
    assert.deepEqual([tx.writes, tx.deletes], [1, 0]);
    tx.settle(kernel);
    assert.ok(finished(diff(kernel, changes({}, [TO_A, TO_GUARD]))).empty);
  });

  test("may be in any order", () => {
    assert.deepEqual(lines([TO_GUARD, TO_A], [TO_A, TO_GUARD]), []);
  });
});
