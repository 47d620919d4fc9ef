import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { candidate } from "../../test/generators/candidates.ts";
import type { Candidate } from "./candidates.ts";
import { type ChoicePolicy, choose } from "./choose.ts";

interface Case {
  readonly name: string;
  readonly endpoints: string;
  readonly policy?: Partial<ChoicePolicy>;
  /** Index of the tier in use before. */
  readonly inUse?: number;
  /** For each endpoint: `+` if it takes traffic, else why not. */
  readonly fates: string;
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

const CASES: readonly Case[] = [
  {
    name: "nobody outside of a wall, in any condition, although nobody inside is ready",
    endpoints: "0n 2r| 2s| 2t| 2r!|",
    fates: "not-ready unselected unselected unselected unselected",
    reason: "no-selected-endpoint",
  },
  {
    name: "one inside that only serves before ready ones outside",
    endpoints: "0t 1r!! 2r|",
    fates: "+ farther-tier unselected",
    reason: SERVING,
  },
  {
    name: "nobody where nobody outside could take a connection either",
    endpoints: "0n 2n|",
    fates: "not-ready unselected",
    reason: "no-endpoint",
  },
  {
    name: "clusters with a weight, and no others",
    endpoints: "1r 1rb 0n 2r",
    policy: NINE_TO_ONE,
    fates: "+ + not-ready farther-tier",
  },
  {
    name: "clusters without a weight when no other of the tier is left",
    endpoints: "1n 0r 0rb 2r",
    policy: NINE_TO_ONE,
    fates: "not-ready + + farther-tier",
  },
  {
    name: "nobody without a weight beside one that has one",
    endpoints: "1r 1rb 1r",
    policy: { clusterWeights: new Map([["c2b", 1]]) },
    fates: "zero-weight + zero-weight",
  },
  {
    name: "the zone inside each cluster that has a weight",
    endpoints: "1rz 1r 1rb 1rb",
    policy: { ...NINE_TO_ONE, ...ZONE },
    fates: "+ other-zone + +",
  },
  {
    name: "the next tier while the nearest has too few",
    endpoints: "0r 0n 0s 1r 1r 2r",
    policy: TWO,
    fates: "too-few-ready not-ready serving + + farther-tier",
    reason: FEW,
  },
  {
    name: "the nearest ready one if no tier has enough",
    endpoints: "0r 0n 1r 2r",
    policy: TWO,
    fates: "+ not-ready farther-tier farther-tier",
  },
  {
    name: "ready ones that do not answer as none",
    endpoints: "0r!! 0r!! 0r 1r 1r",
    policy: TWO,
    fates: "unanswering unanswering too-few-ready + +",
    reason: FEW,
  },
  {
    name: "the tier in use while it has three quarters of enough",
    endpoints: "0r 0r 0r 0n 1r 1r 1r 1r 1r",
    policy: FOUR,
    inUse: 0,
    fates: "+ + + not-ready farther-tier farther-tier farther-tier farther-tier farther-tier",
  },
  {
    name: "another than the tier in use that has less than three quarters of enough",
    endpoints: "0r 0r 0n 0n 1r 1r 1r 1r",
    policy: FOUR,
    inUse: 0,
    fates: "too-few-ready too-few-ready not-ready not-ready + + + +",
    reason: FEW,
  },
  {
    name: "another nearer tier only when it has enough",
    endpoints: "0r 0r 0r 0n 1r 1r 1r 1r",
    policy: FOUR,
    inUse: 1,
    fates: "too-few-ready too-few-ready too-few-ready not-ready + + + +",
    reason: FEW,
  },
  {
    name: "another nearer tier as soon as it has enough",
    endpoints: "0r 0r 0r 0r 0n 1r 1r 1r 1r",
    policy: FOUR,
    inUse: 1,
    fates: "+ + + + not-ready farther-tier farther-tier farther-tier farther-tier",
  },
  {
    name: "the farther tier in use while it has three quarters and the nearer has too few",
    endpoints: "0r 0r 0r 0n 1r 1r 1r 1n 2r 2r 2r 2r",
    policy: FOUR,
    inUse: 1,
    fates:
      "too-few-ready too-few-ready too-few-ready not-ready + + + not-ready farther-tier farther-tier farther-tier farther-tier",
    reason: FEW,
  },
  {
    name: "the tier in use although one of two does not answer for a moment",
    endpoints: "0r 0r!! 1r 1r",
    policy: TWO,
    inUse: 0,
    fates: "+ unanswering farther-tier farther-tier",
  },
  {
    name: "a part of what the tier lists, but for those that terminate",
    endpoints: "0r 0r 0n 0t 1r 1r",
    policy: { minReady: { percent: 66 } },
    fates: "+ + not-ready terminating farther-tier farther-tier",
  },
  {
    name: "others of the tier before one that does not answer",
    endpoints: "1r! 1r 2r",
    fates: "unanswering + farther-tier",
  },
  {
    name: "the next tier before one that is alone and does not answer",
    endpoints: "1n 1r! 2r",
    fates: "not-ready unanswering +",
  },
  {
    name: "half of a tier although none of it answers: those that were found last",
    endpoints: "1r! 1r! 1r! 2r",
    fates: "unanswering + + farther-tier",
  },
  {
    name: "half of the ready ones although none of them answers, however many others the tier has",
    endpoints: "1r! 1r! 1t 1s 2r",
    fates: "unanswering + terminating serving farther-tier",
  },
  {
    name: "half of those with a weight although none of them answers, however many have none",
    endpoints: "1r! 1r! 1rb 1rb 2r",
    policy: { clusterWeights: new Map([["c2", 1]]) },
    fates: "unanswering + zero-weight zero-weight farther-tier",
  },
  {
    name: "nothing of a cluster that does not answer",
    endpoints: "1r!! 1r!! 2r",
    fates: "unanswering unanswering +",
  },
  {
    name: "a serving one before those that do not answer",
    endpoints: "1r!! 2t",
    fates: "unanswering +",
    reason: SERVING,
  },
  {
    name: "the nearest when none answers, ready ones first",
    endpoints: "1t!! 1r!! 2r!!",
    fates: "terminating + farther-tier",
    reason: UNANSWERING,
  },
  {
    name: "a farther one that does not answer is farther",
    endpoints: "0r 1r!",
    fates: "+ farther-tier",
  },
  {
    name: "all ready ones of the nearest tier",
    endpoints: "0r 0r 1r 2r",
    fates: "+ + farther-tier farther-tier",
  },
  {
    name: "the regional tier when the local has none",
    endpoints: "1r 2r",
    fates: "+ farther-tier",
  },
  { name: "the global tier when it is all there is", endpoints: "2r 2r", fates: "+ +" },
  {
    name: "the next tier's ready before the nearest's serving",
    endpoints: "0t 0s 0n 1r 2r",
    fates: "terminating serving not-ready + farther-tier",
  },
  {
    name: "the last tier's ready before any serving",
    endpoints: "0t 1s 2r",
    fates: "terminating serving +",
  },
  {
    name: "ready ones alone where others serve",
    endpoints: "0r 0t 0s 0n",
    fates: "+ terminating serving not-ready",
  },
  {
    name: "serving ones, nearest first, when none is ready",
    endpoints: "0t 0s 0n 1s 2t",
    fates: "+ + not-ready farther-tier farther-tier",
    reason: SERVING,
  },
  {
    name: "a farther tier's serving when the nearer has none",
    endpoints: "0n 1n 2t 2s",
    fates: "not-ready not-ready + +",
    reason: SERVING,
  },
  {
    name: "nobody when all are not ready",
    endpoints: "0n 1n 2n",
    fates: "not-ready not-ready not-ready",
    reason: "no-endpoint",
  },
  { name: "nobody when there is none", endpoints: "", fates: "", reason: "no-endpoint" },

  {
    name: "this node's under internalTrafficPolicy Local",
    endpoints: "0r@ 0r 1r",
    policy: LOCAL,
    fates: "+ other-node other-node",
  },
  {
    name: "nobody under Local when this node has none",
    endpoints: "0r 1r 0n@",
    policy: LOCAL,
    fates: "other-node other-node not-ready",
    reason: "no-endpoint-on-node",
  },
  {
    name: "this node's terminating one under Local",
    endpoints: "0t@ 0r",
    policy: LOCAL,
    fates: "+ other-node",
    reason: SERVING,
  },
  {
    name: "nobody under Local when there is none at all",
    endpoints: "",
    policy: LOCAL,
    fates: "",
    reason: "no-endpoint-on-node",
  },

  {
    name: "this zone's under PreferSameZone",
    endpoints: "0rz 0r 1rz",
    policy: ZONE,
    fates: "+ other-zone farther-tier",
  },
  {
    name: "all of the tier when the zone has none",
    endpoints: "0r 0r 1rz",
    policy: ZONE,
    fates: "+ + farther-tier",
  },
  {
    name: "all of the tier when the zone's is not ready",
    endpoints: "0tz 0nz 0r",
    policy: ZONE,
    fates: "terminating not-ready +",
  },
  {
    name: "this zone's of a farther tier",
    endpoints: "1rz 1r 2rz",
    policy: ZONE,
    fates: "+ other-zone farther-tier",
  },
  {
    name: "no preference for the node under PreferSameZone",
    endpoints: "0r@ 0rz 0r",
    policy: ZONE,
    fates: "+ + other-zone",
  },
  {
    name: "this node's under PreferSameNode",
    endpoints: "0r@ 0rz 0r",
    policy: NODE,
    fates: "+ other-node other-node",
  },
  {
    name: "this zone's under PreferSameNode without one on the node",
    endpoints: "0rz 0r",
    policy: NODE,
    fates: "+ other-zone",
  },
  {
    name: "all under PreferSameNode with neither",
    endpoints: "0r 0r 1r",
    policy: NODE,
    fates: "+ + farther-tier",
  },
  {
    name: "this zone's among those that only serve",
    endpoints: "0sz 0t 0nz",
    policy: ZONE,
    fates: "+ other-zone not-ready",
    reason: SERVING,
  },
  {
    name: "the node's own under Local and PreferSameZone",
    endpoints: "0r@ 0rz",
    policy: { ...LOCAL, ...ZONE },
    fates: "+ other-node",
  },

  {
    name: "an address once, though a cluster lists it twice",
    endpoints: "0r 0r=1#",
    fates: "+ duplicate-endpoint",
  },
  {
    name: "the better condition of a cluster's two claims",
    endpoints: "0n=2 0r=2#",
    fates: "duplicate-endpoint +",
  },
  {
    name: "the nearer cluster's claim to an address",
    endpoints: "2r=1 1r=1 0r=1",
    fates: "duplicate-address duplicate-address +",
  },
  {
    name: "nobody at an address that is not ready here, whatever a farther cluster says",
    endpoints: "0n=1 1r=1",
    fates: "not-ready duplicate-address",
    reason: "no-endpoint",
  },
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
  for (const one of CASES) {
    const { name, endpoints, policy, inUse, fates: expected, reason = "nearest-ready" } = one;
    test(name, () => {
      const candidates = endpoints.split(" ").filter(Boolean).map(candidate);
      const whole = { nodeLocal: false, ...policy };
      assert.equal(fates(candidates, whole, inUse).join(" "), expected);
      const choice = choose(candidates, whole, inUse);
      assert.equal(choice.reason, reason);
      assert.equal(choose([...candidates].reverse(), whole, inUse).reason, reason);
      // The choice is the tier in use of the next plan.
      assert.equal(choose(candidates, whole, choice.tier).tier, choice.tier);
    });
  }
});
