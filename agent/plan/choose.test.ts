import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { candidate } from "../../test/generators/candidates.ts";
import type { Candidate } from "./candidates.ts";
import { type ChoicePolicy, choose } from "./choose.ts";

interface Case {
  /** Each endpoint with its result: `+` if it takes traffic, else the reason. */
  readonly endpoints: string;
  readonly policy?: Partial<ChoicePolicy>;
  /** Index of the tier in use before. */
  readonly inUse?: number;
  readonly reason?: string;
}

const LOCAL = { nodeLocal: true };
const ZONE = { trafficDistribution: "PreferSameZone" } as const;
const NODE = { trafficDistribution: "PreferSameNode" } as const;
const SERVING = "nearest-serving";
const UNANSWERING = "nearest-unanswering";

const FEW = "nearest-enough-ready";
const NINE_TO_ONE = {
  clusterWeights: new Map([
    ["c2", 9],
    ["c2b", 1],
  ]),
};
const TWO = { minReady: { endpoints: 2 } };
const FOUR = { minReady: { endpoints: 4 } };

const CASES: Readonly<Record<string, Case>> = {
  "nobody outside of a wall, in any condition, although nobody inside is ready": {
    endpoints: "0n not-ready, 2r| unselected, 2s| unselected, 2t| unselected, 2r!| unselected",
    reason: "no-selected-endpoint",
  },
  "one inside that only serves before ready ones outside": {
    endpoints: "0t +, 1r!! farther-tier, 2r| unselected",
    reason: SERVING,
  },
  "nobody where nobody outside could take a connection either": {
    endpoints: "0n not-ready, 2n| unselected",
    reason: "no-endpoint",
  },
  "clusters with a weight, and no others": {
    endpoints: "1r +, 1rb +, 0n not-ready, 2r farther-tier",
    policy: NINE_TO_ONE,
  },
  "clusters without a weight when no other of the tier is left": {
    endpoints: "1n not-ready, 0r +, 0rb +, 2r farther-tier",
    policy: NINE_TO_ONE,
  },
  "nobody without a weight beside one that has one": {
    endpoints: "1r zero-weight, 1rb +, 1r zero-weight",
    policy: { clusterWeights: new Map([["c2b", 1]]) },
  },
  "the zone inside each cluster that has a weight": {
    endpoints: "1rz +, 1r other-zone, 1rb +, 1rb +",
    policy: { ...NINE_TO_ONE, ...ZONE },
  },
  "the next tier while the nearest has too few": {
    endpoints: "0r too-few-ready, 0n not-ready, 0s serving, 1r +, 1r +, 2r farther-tier",
    policy: TWO,
    reason: FEW,
  },
  "the nearest ready one if no tier has enough": {
    endpoints: "0r +, 0n not-ready, 1r farther-tier, 2r farther-tier",
    policy: TWO,
  },
  "ready ones that do not answer as none": {
    endpoints: "0r!! unanswering, 0r!! unanswering, 0r too-few-ready, 1r +, 1r +",
    policy: TWO,
    reason: FEW,
  },
  "the tier in use while it has three quarters of enough": {
    endpoints:
      "0r +, 0r +, 0r +, 0n not-ready, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier",
    policy: FOUR,
    inUse: 0,
  },
  "another than the tier in use that has less than three quarters of enough": {
    endpoints:
      "0r too-few-ready, 0r too-few-ready, 0n not-ready, 0n not-ready, 1r +, 1r +, 1r +, 1r +",
    policy: FOUR,
    inUse: 0,
    reason: FEW,
  },
  "another nearer tier only when it has enough": {
    endpoints:
      "0r too-few-ready, 0r too-few-ready, 0r too-few-ready, 0n not-ready, 1r +, 1r +, 1r +, 1r +",
    policy: FOUR,
    inUse: 1,
    reason: FEW,
  },
  "another nearer tier as soon as it has enough": {
    endpoints:
      "0r +, 0r +, 0r +, 0r +, 0n not-ready, 1r farther-tier, 1r farther-tier, 1r farther-tier, 1r farther-tier",
    policy: FOUR,
    inUse: 1,
  },
  "the farther tier in use while it has three quarters and the nearer has too few": {
    endpoints:
      "0r too-few-ready, 0r too-few-ready, 0r too-few-ready, 0n not-ready, 1r +, 1r +, 1r +, 1n not-ready, 2r farther-tier, 2r farther-tier, 2r farther-tier, 2r farther-tier",
    policy: FOUR,
    inUse: 1,
    reason: FEW,
  },
  "the tier in use although one of two does not answer for a moment": {
    endpoints: "0r +, 0r!! unanswering, 1r farther-tier, 1r farther-tier",
    policy: TWO,
    inUse: 0,
  },
  "a part of what the tier lists, but for those that terminate": {
    endpoints: "0r +, 0r +, 0n not-ready, 0t terminating, 1r farther-tier, 1r farther-tier",
    policy: { minReady: { percent: 66 } },
  },
  "others of the tier before one that does not answer": {
    endpoints: "1r! unanswering, 1r +, 2r farther-tier",
  },
  "the next tier before one that is alone and does not answer": {
    endpoints: "1n not-ready, 1r! unanswering, 2r +",
  },
  "the next tier before one of which no endpoint answers, however many": {
    endpoints: "1r! unanswering, 1r! unanswering, 1r! unanswering, 2r +",
  },
  "the next tier before serving ones of one whose ready endpoints do not answer": {
    endpoints: "1r! unanswering, 1r! unanswering, 1t terminating, 1s serving, 2r +",
  },
  "clusters without a weight before a tier farther away, if those with one do not answer": {
    endpoints: "1r! unanswering, 1r! unanswering, 1rb +, 1rb +, 2r farther-tier",
    policy: { clusterWeights: new Map([["c2", 1]]) },
  },
  "one of three that answers": {
    endpoints: "1r! unanswering, 1r! unanswering, 1r +, 2r farther-tier",
  },
  "two of five that answer": {
    endpoints: "1r! unanswering, 1r! unanswering, 1r! unanswering, 1r +, 1r +, 2r farther-tier",
  },
  "the nearest tier if no endpoint answers anywhere": {
    endpoints: "1r! +, 1r! +, 2r! farther-tier",
    reason: UNANSWERING,
  },
  "nothing of a cluster that does not answer": {
    endpoints: "1r!! unanswering, 1r!! unanswering, 2r +",
  },
  "a serving one before those that do not answer": {
    endpoints: "1r!! unanswering, 2t +",
    reason: SERVING,
  },
  "the nearest when none answers, ready ones first": {
    endpoints: "1t!! terminating, 1r!! +, 2r!! farther-tier",
    reason: UNANSWERING,
  },
  "a farther one that does not answer is farther": { endpoints: "0r +, 1r! farther-tier" },
  "all ready ones of the nearest tier": {
    endpoints: "0r +, 0r +, 1r farther-tier, 2r farther-tier",
  },
  "the regional tier when the local has none": { endpoints: "1r +, 2r farther-tier" },
  "the global tier when it is all there is": { endpoints: "2r +, 2r +" },
  "the next tier's ready before the nearest's serving": {
    endpoints: "0t terminating, 0s serving, 0n not-ready, 1r +, 2r farther-tier",
  },
  "the last tier's ready before any serving": { endpoints: "0t terminating, 1s serving, 2r +" },
  "ready ones alone where others serve": {
    endpoints: "0r +, 0t terminating, 0s serving, 0n not-ready",
  },
  "serving ones, nearest first, when none is ready": {
    endpoints: "0t +, 0s +, 0n not-ready, 1s farther-tier, 2t farther-tier",
    reason: SERVING,
  },
  "a farther tier's serving when the nearer has none": {
    endpoints: "0n not-ready, 1n not-ready, 2t +, 2s +",
    reason: SERVING,
  },
  "nobody when all are not ready": {
    endpoints: "0n not-ready, 1n not-ready, 2n not-ready",
    reason: "no-endpoint",
  },
  "nobody when there is none": { endpoints: "", reason: "no-endpoint" },

  "this node's under internalTrafficPolicy Local": {
    endpoints: "0r@ +, 0r other-node, 1r other-node",
    policy: LOCAL,
  },
  "nobody under Local when this node has none": {
    endpoints: "0r other-node, 1r other-node, 0n@ not-ready",
    policy: LOCAL,
    reason: "no-endpoint-on-node",
  },
  "this node's terminating one under Local": {
    endpoints: "0t@ +, 0r other-node",
    policy: LOCAL,
    reason: SERVING,
  },
  "nobody under Local when there is none at all": {
    endpoints: "",
    policy: LOCAL,
    reason: "no-endpoint-on-node",
  },

  "this zone's under PreferSameZone": {
    endpoints: "0rz +, 0r other-zone, 1rz farther-tier",
    policy: ZONE,
  },
  "all of the tier when the zone has none": {
    endpoints: "0r +, 0r +, 1rz farther-tier",
    policy: ZONE,
  },
  "all of the tier when the zone's is not ready": {
    endpoints: "0tz terminating, 0nz not-ready, 0r +",
    policy: ZONE,
  },
  "this zone's of a farther tier": {
    endpoints: "1rz +, 1r other-zone, 2rz farther-tier",
    policy: ZONE,
  },
  "no preference for the node under PreferSameZone": {
    endpoints: "0r@ +, 0rz +, 0r other-zone",
    policy: ZONE,
  },
  "this node's under PreferSameNode": {
    endpoints: "0r@ +, 0rz other-node, 0r other-node",
    policy: NODE,
  },
  "this zone's under PreferSameNode without one on the node": {
    endpoints: "0rz +, 0r other-zone",
    policy: NODE,
  },
  "all under PreferSameNode with neither": {
    endpoints: "0r +, 0r +, 1r farther-tier",
    policy: NODE,
  },
  "this zone's among those that only serve": {
    endpoints: "0sz +, 0t other-zone, 0nz not-ready",
    policy: ZONE,
    reason: SERVING,
  },
  "the node's own under Local and PreferSameZone": {
    endpoints: "0r@ +, 0rz other-node",
    policy: { ...LOCAL, ...ZONE },
  },

  "an address once, though a cluster lists it twice": {
    endpoints: "0r +, 0r=1# duplicate-endpoint",
  },
  "the better condition of a cluster's two claims": {
    endpoints: "0n=2 duplicate-endpoint, 0r=2# +",
  },
  "the nearer cluster's claim to an address": {
    endpoints: "2r=1 duplicate-address, 1r=1 duplicate-address, 0r=1 +",
  },
  "nobody at an address that is not ready here, whatever a farther cluster says": {
    endpoints: "0n=1 not-ready, 1r=1 duplicate-address",
    reason: "no-endpoint",
  },
};

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
  for (const [name, { endpoints, policy, inUse, reason = "nearest-ready" }] of Object.entries(
    CASES,
  )) {
    test(name, () => {
      const pairs = endpoints
        .split(", ")
        .filter(Boolean)
        .map((pair) => pair.split(" "));
      const candidates = pairs.map(([word = ""], i) => candidate(word, i));
      const expected = pairs.map(([, fate]) => fate);
      const whole = { nodeLocal: false, ...policy };
      assert.deepEqual(fates(candidates, whole, inUse), expected);
      const choice = choose(candidates, whole, inUse);
      assert.equal(choice.reason, reason);
      assert.equal(choose([...candidates].reverse(), whole, inUse).reason, reason);
      // The choice is the tier in use of the next plan.
      assert.equal(choose(candidates, whole, choice.tier).tier, choice.tier);
    });
  }
});
