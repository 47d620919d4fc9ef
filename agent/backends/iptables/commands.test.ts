import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finished } from "../backend.ts";
import { accept, type Changes, changeOf, type Held, PLAIN } from "../objects.ts";
import { IptablesCommands } from "./commands.ts";
import { jumpDigest, ONCE } from "./jumps.ts";
import type { ChainKey, Jump } from "./object-id.ts";
import { chainPart, digestOf, type Objects, type Rules } from "./rules.ts";

const A: ChainKey = "nat CSP-A";
const B: ChainKey = "nat CSP-B";
const GUARD: ChainKey = "filter CSP-GUARD";
const TO_A: Jump = "nat PREROUTING -d 241.0.0.0/8 -j CSP-A";
const TO_GUARD: Jump = "filter FORWARD -d 241.0.0.0/8 -j CSP-GUARD";

/** What the kernel holds, and what should exist: chains with rules, and jumps, of which a repeated one has copies. */
type Chains = Readonly<Partial<Record<ChainKey, readonly string[] | undefined>>>;

function heldOf(chains: Chains = {}, jumps: readonly Jump[] = []): Held {
  const copies = Map.groupBy(jumps, (jump) => jump);
  return new Map([
    ...Object.entries(chains).map(
      ([key, rules]) => [key, { digest: digestOf(rules ?? []) }] as const,
    ),
    ...[...copies].map(([id, { length }]) => [id, { digest: `${length}` }] as const),
  ]);
}

function changes(chains: Chains, jumps: readonly Jump[] = [], complete = false): Changes<Rules> {
  const objects: Objects = new Map();
  for (const [key, rules] of Object.entries(chains))
    objects.set(key, rules && chainPart(key as ChainKey, rules));
  for (const id of jumps) objects.set(id, { id, digest: ONCE, content: [] });
  return { complete, objects, keeps: false };
}

/** Also settles: what is held is then what the kernel holds after the transaction. */
function transaction(held: Held, desired: Changes<Rules>): IptablesCommands {
  const change = finished(changeOf(held, desired, PLAIN));
  accept(held, change);
  return new IptablesCommands(change);
}

describe("a transaction", () => {
  test("deletes the guard after the DNAT", () => {
    const held = heldOf({ [A]: [], [GUARD]: [] }, [TO_GUARD, TO_A]);
    const tx = transaction(held, changes({}, [], true));
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
    const text = transaction(
      heldOf({ "filter CSP-OLD": [] }, ["filter FORWARD -j CSP-OLD"]),
      changes({ [GUARD]: [], [A]: [] }, [TO_GUARD], true),
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
    const text = transaction(
      heldOf({ "nat CSP-C": [] }),
      changes({
        "nat CSP-D": ["-A CSP-D -j RETURN"],
        "nat CSP-a": [],
        [B]: [],
        "nat CSP-C": undefined,
        "nat CSP-A.B/C": [],
      }),
    ).toString();
    assert.deepEqual(text.match(/^:\S+/gm), [":CSP-A.B/C", ":CSP-B", ":CSP-C", ":CSP-D", ":CSP-a"]);
  });

  test("deletes other chains only if the changes are complete", () => {
    const held = heldOf({ [A]: [], [B]: [] });
    assert.equal(transaction(held, changes({ [A]: [] })).empty, true);
    const text = transaction(held, changes({ [A]: [] }, [], true)).toString();
    assert.deepEqual(text.match(/^-X .*$/gm), ["-X CSP-B"]);
  });
});

describe("jumps", () => {
  const lines = (present: readonly Jump[], wanted: readonly Jump[]) =>
    transaction(heldOf({}, present), changes({}, wanted, true))
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
    const held = heldOf({}, [TO_GUARD, TO_A]);
    held.set(TO_GUARD, { digest: jumpDigest({ copies: 1, behind: "Docker: -A FORWARD …" }) });
    const tx = transaction(held, changes({}, [TO_A, TO_GUARD]));
    assert.equal(
      tx.toString(),
      `*filter
-D FORWARD -d 241.0.0.0/8 -j CSP-GUARD
-I FORWARD 1 -d 241.0.0.0/8 -j CSP-GUARD
COMMIT
`,
    );
    assert.deepEqual([tx.writes, tx.deletes], [1, 0]);
    assert.ok(transaction(held, changes({}, [TO_A, TO_GUARD])).empty);
  });

  test("may be in any order", () => {
    assert.deepEqual(lines([TO_GUARD, TO_A], [TO_A, TO_GUARD]), []);
  });
});
