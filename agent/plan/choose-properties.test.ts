import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { gcd } from "../../api/gcd.ts";
import {
  anyCandidates,
  anyPolicy,
  anyTier,
  anyWholePolicy,
  candidate,
} from "../../test/generators/candidates.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { Candidate } from "./candidates.ts";
import { choose } from "./choose.ts";

test("every candidate is either chosen or excluded, once, and no destination is chosen twice", () =>
  forAll([anyCandidates, anyWholePolicy, anyTier], (candidates, policy, inUse) => {
    const { chosen, excluded } = choose(candidates, policy, inUse);
    const all = [...chosen, ...excluded.map((out) => out.candidate)];
    assert.deepEqual(new Set(all), new Set(candidates));
    assert.equal(all.length, candidates.length);
    assert.equal(new Set(chosen.map((c) => c.address)).size, chosen.length);
    assert.ok(new Set(chosen.map((c) => c.tier)).size <= 1);
  }));

test("the order of the candidates has no effect", async () => {
  const shuffled = anyCandidates.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  await forAll([shuffled, anyPolicy], ([candidates, other], policy) => {
    const [a, b] = [choose(candidates, policy), choose(other, policy)];
    const told = ({ address, port, tier, condition, origin }: Candidate) =>
      `${address} ${port} ${tier} ${condition} ${origin.cluster}`;
    assert.deepEqual(a.chosen.map(told), b.chosen.map(told));
    assert.equal(a.reason, b.reason);
    assert.equal(a.tier, b.tier);
  });
});

test("without a preference, the choice is not restricted; with one, it is a subset", () =>
  forAll([anyCandidates, anyPolicy], (candidates, policy) => {
    const free = choose(candidates, { nodeLocal: policy.nodeLocal });
    const narrow = choose(candidates, policy);
    assert.equal(narrow.tier, free.tier);
    assert.equal(narrow.reason, free.reason);
    for (const one of narrow.chosen) assert.ok(free.chosen.includes(one));
    assert.equal(narrow.chosen.length === 0, free.chosen.length === 0);
  }));

test("with shares, each cluster that has an endpoint has one, and clusters without a share have no endpoint", () =>
  forAll([anyCandidates, anyWholePolicy, anyTier], (candidates, policy, inUse) => {
    const { chosen, shares } = choose(candidates, policy, inUse);
    if (shares === undefined) return;
    const clusters = new Set(chosen.map(({ origin }) => origin.cluster));
    assert.deepEqual(
      [...clusters].toSorted((a = "", b = "") => (a < b ? -1 : 1)),
      shares.map(({ cluster }) => cluster),
    );
    assert.equal(shares.map(({ weight }) => weight).reduce(gcd), 1);
    const [first] = shares;
    for (const { cluster, weight } of shares) {
      const asked = policy.clusterWeights?.get(cluster) ?? 0;
      const least = policy.clusterWeights?.get(first?.cluster ?? "") ?? 0;
      assert.equal(weight * least, asked * (first?.weight ?? 0), "in the ratio of the weights");
    }
  }));

test("min-ready and weights change who takes the traffic, never whether somebody does, and a wall lets nobody pass", () =>
  forAll([anyCandidates, anyWholePolicy, anyTier], (candidates, policy, inUse) => {
    const free = choose(candidates, { nodeLocal: policy.nodeLocal });
    const choice = choose(candidates, policy, inUse);
    assert.equal(choice.chosen.length === 0, free.chosen.length === 0);
    assert.ok(choice.chosen.every(({ walled }) => !walled));
    assert.ok(choice.ready.every(({ walled }) => !walled));
    const again = choose(candidates, policy, choice.tier);
    assert.deepEqual(again.chosen, choice.chosen, "planned again, the same");
  }));

test("with min-ready, one flapping endpoint moves nothing, and a tier that was left comes back with min-ready", async () => {
  const anyNeeds = fc.record({
    needed: fc.integer({ min: 2, max: 12 }),
    more: fc.integer({ min: 0, max: 4 }),
    isPart: fc.boolean(),
  });
  await forAll([anyNeeds], ({ needed, more, isPart }) => {
    const listed = isPart ? needed : needed + more;
    const minReady = isPart ? { percent: 100 } : { endpoints: needed };
    const tierWith = (ready: number, inUse: number) => {
      const near = Array.from({ length: listed }, (_, i) => (i < ready ? "0r" : "0n"));
      const far = Array.from({ length: listed }, () => "1r");
      return choose([...near, ...far].map(candidate), { nodeLocal: false, minReady }, inUse).tier;
    };
    assert.equal(tierWith(needed, 1), 0);
    assert.equal(tierWith(needed - 1, 0), 0);
    assert.equal(tierWith(needed - 1, 1), 1);
    assert.equal(tierWith(Math.floor(needed / 2), 0), needed === 2 ? 0 : 1);
  });
});
