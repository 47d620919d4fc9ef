import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { claimed, leaseTerms, microTime } from "./lease.ts";

const NAME = { namespace: "here", name: "leader" };

test("a claim changes only its own fields of the Lease", () => {
  const before = {
    kind: "Lease",
    metadata: { ...NAME, uid: "u", resourceVersion: "7", labels: { team: "net" } },
    spec: { holderIdentity: "a", acquireTime: "then", leaseTransitions: 4, strategy: "x" },
  };
  const claim = { holder: "b", duration: 15_000, time: "now" };
  assert.deepEqual(claimed(NAME, before, claim), {
    ...before,
    spec: {
      holderIdentity: "b",
      leaseDurationSeconds: 15,
      renewTime: "now",
      acquireTime: "now",
      leaseTransitions: 5,
      strategy: "x",
    },
  });
  const renewal = claimed(NAME, before, { ...claim, holder: "a" });
  assert.deepEqual(leaseTerms(renewal), { holder: "a", duration: 15_000, transitions: 4 });
  const release = claimed(NAME, before, { ...claim, holder: "" });
  assert.deepEqual(leaseTerms(release), { holder: "", duration: 15_000, transitions: 4 });
  assert.deepEqual(claimed(NAME, undefined, claim).metadata, NAME);
});

test("a Lease with invalid or missing fields has no holder", async () => {
  const nothing = { holder: "", duration: undefined, transitions: 0 };
  for (const lease of [
    undefined,
    null,
    7,
    [],
    {},
    { spec: null },
    { spec: { holderIdentity: 7 } },
  ]) {
    assert.deepEqual(leaseTerms(lease), nothing);
  }
  const spec = { leaseDurationSeconds: -1, leaseTransitions: -1 };
  assert.deepEqual(leaseTerms({ spec }), nothing);
  await forAll([fc.anything()], (lease) => assert.ok(leaseTerms(lease).holder.length >= 0));
});

test("two consecutive times differ, even at the same time of day", () => {
  const date = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  assert.equal(microTime(date, 0), "2026-01-02T03:04:05.678000Z");
  assert.equal(microTime(date, 1041), "2026-01-02T03:04:05.678041Z");
});
