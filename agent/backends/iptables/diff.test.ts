import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { diff } from "./diff.ts";
import { type Believed, type ChainKey, type Changes, digestOf, type Jump } from "./tables.ts";

const A: ChainKey = "nat CSP-A";
const B: ChainKey = "nat CSP-B";
const GUARD: ChainKey = "filter CSP-GUARD";
const TO_A: Jump = "nat PREROUTING -d 241.0.0.0/8 -j CSP-A";
const TO_GUARD: Jump = "filter FORWARD -d 241.0.0.0/8 -j CSP-GUARD";

type Chains = Readonly<Partial<Record<ChainKey, readonly string[] | undefined>>>;

function believed(chains: Chains = {}, jumps: readonly Jump[] = []): Believed {
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
  test("puts up the guard before the DNAT", () => {
    const wanted = changes({ [A]: ["-A CSP-A -j RETURN"], [GUARD]: ["-A CSP-GUARD -j DROP"] }, [
      TO_GUARD,
      TO_A,
    ]);
    const tx = diff(believed(), wanted);
    assert.equal(
      tx.toString(),
      `*filter
:CSP-GUARD - [0:0]
-A CSP-GUARD -j DROP
-I FORWARD 1 -d 241.0.0.0/8 -j CSP-GUARD
COMMIT
*nat
:CSP-A - [0:0]
-A CSP-A -j RETURN
-I PREROUTING 1 -d 241.0.0.0/8 -j CSP-A
COMMIT
`,
    );
    assert.deepEqual([tx.writes, tx.deletes, tx.empty], [4, 0, false]);
  });

  test("takes the guard down after the DNAT", () => {
    const tx = diff(believed({ [A]: [], [GUARD]: [] }, [TO_GUARD, TO_A]), changes({}, [], true));
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

  test("has a new guard before, and the old one after the change of the DNAT", () => {
    const text = diff(
      believed({ "filter CSP-OLD": [] }, ["filter FORWARD -j CSP-OLD"]),
      changes({ [GUARD]: [], "filter CSP-OLD": undefined, [A]: [] }, [TO_GUARD]),
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

  test("declares chains in the order of their names, those that it deletes among them", () => {
    const text = diff(
      believed({ "nat CSP-C": [] }),
      changes({
        "nat CSP-D": ["-A CSP-D -j RETURN"],
        "nat CSP-a": [],
        [B]: [],
        "nat CSP-C": undefined,
        "nat CSP-241.0.0.0/8": [],
      }),
    ).toString();
    assert.deepEqual(text.match(/^:\S+/gm), [
      ":CSP-241.0.0.0/8",
      ":CSP-B",
      ":CSP-C",
      ":CSP-D",
      ":CSP-a",
    ]);
  });

  test("leaves alone a chain that is as it should be", () => {
    const rules = ["-A CSP-A -j RETURN"];
    assert.equal(diff(believed({ [A]: rules }), changes({ [A]: rules })).empty, true);
    assert.equal(diff(believed({ [A]: rules }), changes({ [A]: [...rules, ...rules] })).writes, 1);
    assert.equal(diff(believed(), changes({ [A]: undefined })).empty, true);
  });

  test("deletes what it does not name only if it names everything", () => {
    const kernel = believed({ [A]: [], [B]: [] });
    assert.equal(diff(kernel, changes({ [A]: [] })).empty, true);
    assert.deepEqual(
      diff(kernel, changes({ [A]: [] }, [], true))
        .toString()
        .match(/^-X .*$/gm),
      ["-X CSP-B"],
    );
  });

  test("leaves the jumps alone if they did not change", () => {
    assert.equal(diff(believed({}, [TO_A]), changes({})).empty, true);
  });
});

describe("jumps", () => {
  const lines = (present: readonly Jump[], wanted: readonly Jump[]) =>
    diff(believed({}, present), changes({}, wanted)).toString().match(/^-.*$/gm) ?? [];

  test("that are missing go to the head of their chain, the first wanted first", () => {
    assert.deepEqual(lines([], ["nat OUTPUT -j CSP-A", "nat OUTPUT -j CSP-B"]), [
      "-I OUTPUT 1 -j CSP-B",
      "-I OUTPUT 1 -j CSP-A",
    ]);
  });

  test("that stand twice stand once", () => {
    assert.deepEqual(lines([TO_A, TO_A, TO_A], [TO_A]), [
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-D PREROUTING -d 241.0.0.0/8 -j CSP-A",
      "-I PREROUTING 1 -d 241.0.0.0/8 -j CSP-A",
    ]);
  });

  test("that somebody put elsewhere are taken out", () => {
    assert.deepEqual(lines([TO_A, "nat INPUT -j CSP-A", "filter CUSTOM -g CSP-GUARD"], [TO_A]), [
      "-D INPUT -j CSP-A",
      "-D CUSTOM -g CSP-GUARD",
    ]);
  });

  test("that stand behind an obstacle go to the head, and nothing else moves", () => {
    const kernel = { ...believed({}, [TO_GUARD, TO_A]), behind: new Map([[TO_GUARD, "Docker"]]) };
    const tx = diff(kernel, changes({}, [TO_A, TO_GUARD]));
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
    assert.ok(diff(kernel, changes({}, [TO_A, TO_GUARD])).empty);
  });

  test("in another order are as good", () => {
    assert.deepEqual(lines([TO_GUARD, TO_A], [TO_A, TO_GUARD]), []);
  });
});

test("after it is settled, the same changes are none", () => {
  const key = fc.constantFrom<ChainKey>(A, B, GUARD, "filter CSP-A");
  const rules = fc.array(fc.constantFrom("-A CSP-A -j RETURN", "-A CSP-A -j DROP"), {
    maxLength: 2,
  });
  const jumps = fc.uniqueArray(fc.constantFrom<Jump>(TO_A, TO_GUARD, "nat INPUT -j CSP-A"));
  fc.assert(
    fc.property(
      fc.dictionary(key, rules),
      fc.array(fc.constantFrom<Jump>(TO_A, TO_GUARD, "nat OUTPUT -j CSP-B")),
      fc.dictionary(key, fc.option(rules, { nil: undefined })),
      jumps,
      fc.boolean(),
      (kernel, present, wanted, jumpsWanted, complete) => {
        const state = believed(kernel, present);
        const change = changes(wanted, jumpsWanted, complete);
        diff(state, change).settle(state);
        const again = diff(state, change);
        assert.equal(again.toString(), "");
        assert.equal(again.empty, true);
      },
    ),
  );
});
