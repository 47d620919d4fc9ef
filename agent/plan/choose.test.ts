import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { EndpointCondition } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import { type ChoicePolicy, choose } from "./choose.ts";

const CLUSTERS = ["c1", "c2", "c3"] as const;
const REGIONS = ["eu-west", "eu-west", "us-east"] as const;

/**
 * One endpoint as a word: the tier it is in (0 local, 1 regional, 2 global), its condition (r, s, t, n), and
 * `@` for this node, `z` for this zone; `=2` repeats the address of the second word, `#` tells slices apart; `!` does not answer, `!!` with
 * all of its cluster.
 */
function candidate(word: string, index: number): Candidate {
  const match = /^([012])([rstn])(@?)(z?)(?:=(\d))?(#?)(!{0,2})$/.exec(word);
  assert.ok(match, word);
  const [, digit, letter, node, zone, alias, slice, silent] = match;
  const tier = Number(digit);
  const conditions: Record<string, EndpointCondition> = {
    r: "ready",
    s: "serving",
    t: "terminating",
    n: "not-ready",
  };
  return {
    slice: `demo/${CLUSTERS[tier] ?? ""}${slice === "#" ? "-other" : ""}`,
    address: `10.0.0.${alias ?? index + 1}`,
    port: 8080,
    condition: conditions[letter ?? ""] ?? "not-ready",
    origin: { cluster: CLUSTERS[tier] ?? "", region: REGIONS[tier] ?? "" },
    tier,
    onThisNode: node === "@",
    inThisZone: zone === "z" || node === "@",
    maybeHere: node === "@",
    ...(silent === "!" && { silent: { scope: "endpoint", since: index } }),
    ...(silent === "!!" && { silent: { scope: "cluster", since: 0 } }),
  };
}

interface Case {
  readonly name: string;
  readonly endpoints: string;
  readonly policy?: Partial<ChoicePolicy>;
  /** For each endpoint: `+` if it takes traffic, else why not. */
  readonly fates: string;
  readonly reason?: string;
}

const LOCAL = { nodeLocal: true };
const ZONE = { trafficDistribution: "PreferSameZone" } as const;
const NODE = { trafficDistribution: "PreferSameNode" } as const;
const SERVING = "nearest-serving";
const UNANSWERING = "nearest-unanswering";

const CASES: readonly Case[] = [
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
function fates(candidates: readonly Candidate[], policy: ChoicePolicy): string[] {
  const choice = choose(candidates, policy);
  return candidates.map((one) => {
    if (choice.chosen.includes(one)) return "+";
    return choice.excluded.find((out) => out.candidate === one)?.reason ?? "forgotten";
  });
}

describe("takes", () => {
  for (const { name, endpoints, policy, fates: expected, reason = "nearest-ready" } of CASES) {
    test(name, () => {
      const candidates = endpoints.split(" ").filter(Boolean).map(candidate);
      const whole = { nodeLocal: false, ...policy };
      assert.equal(fates(candidates, whole).join(" "), expected);
      assert.equal(choose(candidates, whole).reason, reason);
      assert.equal(choose([...candidates].reverse(), whole).reason, reason);
    });
  }
});

const word = fc
  .tuple(
    fc.constantFrom(..."012".split("")),
    fc.constantFrom(..."rstn".split("")),
    fc.constantFrom("", "@", "z"),
    fc.constantFrom("", "=1", "=2"),
    fc.constantFrom("", "#"),
  )
  .map((parts) => parts.join(""));
const anyCandidates = fc.array(word, { maxLength: 8 }).map((words) => words.map(candidate));
const anyPolicy = fc.record({
  nodeLocal: fc.boolean(),
  trafficDistribution: fc.constantFrom("PreferSameZone" as const, "PreferSameNode" as const),
});

test("every candidate is either chosen or excluded, once, and no destination is chosen twice", () => {
  fc.assert(
    fc.property(anyCandidates, anyPolicy, (candidates, policy) => {
      const { chosen, excluded } = choose(candidates, policy);
      const all = [...chosen, ...excluded.map((out) => out.candidate)];
      assert.deepEqual(new Set(all), new Set(candidates));
      assert.equal(all.length, candidates.length);
      assert.equal(new Set(chosen.map((c) => c.address)).size, chosen.length);
      assert.ok(new Set(chosen.map((c) => c.tier)).size <= 1);
    }),
  );
});

test("the order of the candidates has no effect", () => {
  const shuffled = anyCandidates.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(shuffled, anyPolicy, ([candidates, other], policy) => {
      const [a, b] = [choose(candidates, policy), choose(other, policy)];
      const told = ({ address, port, tier, condition, origin }: Candidate) =>
        `${address} ${port} ${tier} ${condition} ${origin.cluster}`;
      assert.deepEqual(a.chosen.map(told), b.chosen.map(told));
      assert.equal(a.reason, b.reason);
      assert.equal(a.tier, b.tier);
    }),
  );
});

test("without a preference, the choice is not restricted; with one, it is a subset", () => {
  fc.assert(
    fc.property(anyCandidates, anyPolicy, (candidates, policy) => {
      const free = choose(candidates, { nodeLocal: policy.nodeLocal });
      const narrow = choose(candidates, policy);
      assert.equal(narrow.tier, free.tier);
      assert.equal(narrow.reason, free.reason);
      for (const one of narrow.chosen) assert.ok(free.chosen.includes(one));
      assert.equal(narrow.chosen.length === 0, free.chosen.length === 0);
    }),
  );
});
