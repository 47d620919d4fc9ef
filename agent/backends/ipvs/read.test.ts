import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { drained } from "./read.ts";
import type { DestinationKey, StandingDestination, StandingServer } from "./state.ts";

const TERMS = { scheduler: "rr", flags: 0x20, timeout: 0 };
const A: DestinationKey = "0a01000b 8080";
const B: DestinationKey = "0a02000b 8080";

function destination(weight: number, idle = false): StandingDestination {
  return { weight, plain: true, idle };
}

/** A server with one destination that we drain, and one that takes connections. */
const server: StandingServer = {
  terms: TERMS,
  destinations: new Map([
    [A, destination(0)],
    [B, destination(1)],
  ]),
};

/** What is believed after the kernel has said this. */
function after(...found: readonly (readonly [DestinationKey, StandingDestination])[]) {
  return Object.fromEntries(drained(server, new Map(found)).destinations);
}

describe("looking for connections", () => {
  test("one that we drain is idle when its last connection has ended, or when somebody has deleted it", () => {
    const takes = [B, destination(1)] as const;
    for (const found of [[takes, [A, destination(0, true)] as const], [takes]]) {
      const { [A]: one } = after(...found);
      assert.deepEqual(one, destination(0, true));
    }
    assert.equal(after(takes, [A, destination(0)])[A]?.idle, false);
  });

  test("a weight that somebody else has taken away is no draining of ours", () => {
    const found = after([A, destination(0)], [B, destination(0, true)]);
    assert.deepEqual(found[B], destination(1));
  });

  test("a weight that somebody else has given is not idle, and who was added is not believed in", () => {
    const found = after([A, destination(5)], ["0a09090a 80", destination(0, true)]);
    assert.deepEqual(Object.keys(found), [A, B]);
    assert.deepEqual(found[A], destination(0));
  });
});
