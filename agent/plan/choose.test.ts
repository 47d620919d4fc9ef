import assert from "node:assert/strict";
import { describe, test } from "node:test";
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
import { type ChoicePolicy, choose } from "./choose.ts";

/**
 * What is taken, and the endpoints, each with its result: `+` if it takes traffic, else the reason; and after `->`
 * the reason of the choice where it is not `nearest-ready`.
 */
type Cases = Readonly<Record<string, string>>;

const LOCAL = { nodeLocal: true };
const ZONE = { trafficDistribution: "PreferSameZone" } as const;
const NODE = { trafficDistribution: "PreferSameNode" } as const;
const NINE_TO_ONE = {
  clusterWeights: new Map([
    ["c2", 9],
    ["c2b", 1],
  ]),
};
const TWO = { minReady: { endpoints: 2 } };
const FOUR = { minReady: { endpoints: 4 } };

const CASES: readonly (readonly [policy: Partial<ChoicePolicy>, Cases, inUse?: number])[] = [
  [
    {},
    {
      "nobody outside of a wall, in any condition, although nobody inside is ready":
        "0n not-ready, 2r| unselected, 2s| unselected, 2t| unselected, 2r!| unselected -> no-selected-endpoint",
      "one inside that only serves before ready ones outside":
        "0t +, 1r!! farther-tier, 2r| unselected -> nearest-serving",
      "nobody where nobody outside could take a connection either":
        "0n not-ready, 2n| unselected -> no-endpoint",
      "others of the tier before one that does not answer":
        "1r! unanswering, 1r +, 2r farther-tier",
      "the next tier before one that is alone and does not answer":
        "1n not-ready, 1r! unanswering, 2r +",
      "the next tier before one of which no endpoint answers, however many":
        "1r! unanswering, 1r! unanswering, 1r! unanswering, 2r +",
      "the next tier before serving ones of one whose ready endpoints do not answer":
        "1r! unanswering, 1r! unanswering, 1t terminating, 1s serving, 2r +",
      "one of three that answers": "1r! unanswering, 1r! unanswering, 1r +, 2r farther-tier",
      "two of five that answer":
        "1r! unanswering, 1r! unanswering, 1r! unanswering, 1r +, 1r +, 2r farther-tier",
      "the nearest tier if no endpoint answers anywhere":
        "1r! +, 1r! +, 2r! farther-tier -> nearest-unanswering",
      "nothing of a cluster that does not answer": "1r!! unanswering, 1r!! unanswering, 2r +",
      "a serving one before those that do not answer": "1r!! unanswering, 2t + -> nearest-serving",
      "the nearest when none answers, ready ones first":
        "1t!! terminating, 1r!! +, 2r!! farther-tier -> nearest-unanswering",
      "a suspected one of any tier before those that were shown silent":
        "1r!! unanswering, 2r! + -> nearest-unanswering",
      "a suspected one that is serving before those that were shown silent":
        "1r!! unanswering, 1s! + -> nearest-unanswering",
      "a farther one that does not answer is farther": "0r +, 1r! farther-tier",
      "all ready ones of the nearest tier": "0r +, 0r +, 1r farther-tier, 2r farther-tier",
      "the regional tier when the local has none": "1r +, 2r farther-tier",
      "the global tier when it is all there is": "2r +, 2r +",
      "the next tier's ready before the nearest's serving":
        "0t terminating, 0s serving, 0n not-ready, 1r +, 2r farther-tier",
      "the last tier's ready before any serving": "0t terminating, 1s serving, 2r +",
      "ready ones alone where others serve": "0r +, 0t terminating, 0s serving, 0n not-ready",
      "serving ones, nearest first, when none is ready":
        "0t +, 0s +, 0n not-ready, 1s farther-tier, 2t farther-tier -> nearest-serving",
      "a farther tier's serving when the nearer has none":
        "0n not-ready, 1n not-ready, 2t +, 2s + -> nearest-serving",
      "nobody when all are not ready": "0n not-ready, 1n not-ready, 2n not-ready -> no-endpoint",
      "nobody when there is none": "-> no-endpoint",
      "an address once, though a cluster lists it twice": "0r +, 0r=1# duplicate-endpoint",
      "the better condition of a cluster's two claims": "0n=2 duplicate-endpoint, 0r=2# +",
      "the nearer cluster's claim to an address":
        "2r=1 duplicate-address, 1r=1 duplicate-address, 0r=1 +",
      "nobody at an address that is not ready here, whatever a farther cluster says":
        "0n=1 not-ready, 1r=1 duplicate-address -> no-endpoint",
    },
  ],
  [
    NINE_TO_ONE,
    {
      "clusters with a weight, and no others": "1r +, 1rb +, 0n not-ready, 2r farther-tier",
      "clusters without a weight when no other of the tier is left":
        "1n not-ready, 0r +, 0rb +, 2r farther-tier",
    },
  ],
  [
    { clusterWeights: new Map([["c2b", 1]]) },
    {
      "nobody without a weight beside one that has one": "1r zero-weight, 1rb +, 1r zero-weight",
    },
  ],
  [
    { ...NINE_TO_ONE, ...ZONE },
    {
      "the zone inside each cluster that has a weight": "1rz +, 1r other-zone, 1rb +, 1rb +",
    },
  ],
  [
    TWO,
    {
      "the next tier while the nearest has too few":
        "0r too-few-ready, 0n not-ready, 0s serving, 1r +, 1r +, 2r farther-tier -> nearest-enough-ready",
      "the nearest ready one if no tier has enough":
        "0r +, 0n not-ready, 1r farther-tier, 2r farther-tier",
      "ready ones that do not answer as none":
        "0r!! unanswering, 0r!! unanswering, 0r too-few-ready, 1r +, 1r + -> nearest-enough-ready",
    },
  ],
  [
    FOUR,
    {
      "the tier in use while it has three quarters of enough":
        "0r +, 0r +, 0r +, 0n not-ready, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier",
      "another than the tier in use that has less than three quarters of enough":
        "0r too-few-ready, 0r too-few-ready, 0n not-ready, 0n not-ready, 1r +, 1r +, 1r +, 1r + -> nearest-enough-ready",
    },
    0,
  ],
  [
    FOUR,
    {
      "another nearer tier only when it has enough":
        "0r too-few-ready, 0r too-few-ready, 0r too-few-ready, 0n not-ready, 1r +, 1r +, 1r +, 1r + -> nearest-enough-ready",
      "another nearer tier as soon as it has enough":
        "0r +, 0r +, 0r +, 0r +, 0n not-ready, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier",
      "the farther tier in use while it has three quarters and the nearer has too few":
        "0r too-few-ready, 0r too-few-ready, 0r too-few-ready, 0n not-ready, 1r +, 1r +, 1r +, 1n not-ready, 2r farther-tier, 2r farther-tier, 2r farther-tier, 2r farther-tier -> nearest-enough-ready",
    },
    1,
  ],
  [
    TWO,
    {
      "the tier in use although one of two does not answer for a moment":
        "0r +, 0r!! unanswering, 1r farther-tier, 1r farther-tier",
    },
    0,
  ],
  [
    { minReady: { percent: 66 } },
    {
      "a part of what the tier lists, but for those that terminate":
        "0r +, 0r +, 0n not-ready, 0t terminating, 1r farther-tier, 1r farther-tier",
    },
  ],
  [
    { clusterWeights: new Map([["c2", 1]]) },
    {
      "clusters without a weight before a tier farther away, if those with one do not answer":
        "1r! unanswering, 1r! unanswering, 1rb +, 1rb +, 2r farther-tier",
    },
  ],
  [
    LOCAL,
    {
      "this node's under internalTrafficPolicy Local": "0r@ +, 0r other-node, 1r other-node",
      "nobody under Local when this node has none":
        "0r other-node, 1r other-node, 0n@ not-ready -> no-endpoint-on-node",
      "this node's terminating one under Local": "0t@ +, 0r other-node -> nearest-serving",
      "nobody under Local when there is none at all": "-> no-endpoint-on-node",
    },
  ],
  [
    ZONE,
    {
      "this zone's under PreferSameZone": "0rz +, 0r other-zone, 1rz farther-tier",
      "all of the tier when the zone has none": "0r +, 0r +, 1rz farther-tier",
      "all of the tier when the zone's is not ready": "0tz terminating, 0nz not-ready, 0r +",
      "this zone's of a farther tier": "1rz +, 1r other-zone, 2rz farther-tier",
      "no preference for the node under PreferSameZone": "0r@ +, 0rz +, 0r other-zone",
      "this zone's among those that only serve":
        "0sz +, 0t other-zone, 0nz not-ready -> nearest-serving",
    },
  ],
  [
    NODE,
    {
      "this node's under PreferSameNode": "0r@ +, 0rz other-node, 0r other-node",
      "this zone's under PreferSameNode without one on the node": "0rz +, 0r other-zone",
      "all under PreferSameNode with neither": "0r +, 0r +, 1r farther-tier",
    },
  ],
  [
    { ...LOCAL, ...ZONE },
    {
      "the node's own under Local and PreferSameZone": "0r@ +, 0rz other-node",
    },
  ],
];

/** What became of each candidate, in the order in which they were given. */
function fates(
  candidates: readonly Candidate[],
  policy: ChoicePolicy,
  inUse: number | undefined,
): string[] {
  const choice = choose(candidates, policy, inUse);
  return candidates.map((one) => {
    if (choice.chosen.includes(one)) return "+";
    return choice.excluded.find((out) => out.candidate === one)?.reason ?? "forgotten";
  });
}

describe("takes", () => {
  for (const [policy, cases, inUse] of CASES) {
    for (const [name, text] of Object.entries(cases)) {
      test(name, () => {
        const [endpoints = "", reason = "nearest-ready"] = text.split(/ ?-> /);
        const pairs = endpoints
          .split(", ")
          .filter(Boolean)
          .map((pair) => pair.split(" "));
        const candidates = pairs.map(([word = ""], i) => candidate(word, i));
        const whole = { nodeLocal: false, ...policy };
        const fated = pairs.map(([, fate]) => fate);
        assert.deepEqual(fates(candidates, whole, inUse), fated);
        const choice = choose(candidates, whole, inUse);
        assert.equal(choice.reason, reason);
        assert.equal(choose([...candidates].reverse(), whole, inUse).reason, reason);
        // The choice is the tier in use of the next plan.
        assert.equal(choose(candidates, whole, choice.tier).tier, choice.tier);
      });
    }
  }
});

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
