import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { markIdle } from "./diff.ts";
import type { DestinationKey, KernelDestination, KernelServer } from "./state.ts";

const TERMS = { scheduler: "rr", flags: 0x20, timeout: 0 };
const A: DestinationKey = "0a01000b 8080";
const B: DestinationKey = "0a02000b 8080";

function destination(weight: number, idle = false): KernelDestination {
  return { weight, plain: true, idle };
}

/** A server with one destination that we drain, and one that gets connections. */
const server: KernelServer = {
  terms: TERMS,
  destinations: new Map([
    [A, destination(0)],
    [B, destination(1)],
  ]),
};

/** The destinations after the kernel has reported these. */
function after(...found: readonly (readonly [DestinationKey, KernelDestination])[]) {
  return Object.fromEntries(markIdle(server, new Map(found)).destinations);
}

describe("draining destinations", () => {
  test("are idle when their last connection has ended, or when another program deleted them", () => {
    const takes = [B, destination(1)] as const;
    for (const found of [[takes, [A, destination(0, true)] as const], [takes]]) {
      const { [A]: one } = after(...found);
      assert.deepEqual(one, destination(0, true));
    }
    assert.equal(after(takes, [A, destination(0)])[A]?.idle, false);
  });

  test("are not those whose weight another program set to 0", () => {
    const found = after([A, destination(0)], [B, destination(0, true)]);
    assert.deepEqual(found[B], destination(1));
  });

  test("are not idle if another program gave them a weight; added destinations do not count", () => {
    const found = after([A, destination(5)], ["0a09090a 80", destination(0, true)]);
    assert.deepEqual(Object.keys(found), [A, B]);
    assert.deepEqual(found[A], destination(0));
  });
});
