import assert from "node:assert/strict";
import fc from "fast-check";
import type { EndpointCondition } from "../../agent/model/facts.ts";
import type { Candidate } from "../../agent/plan/candidates.ts";
import type { ChoicePolicy } from "../../agent/plan/choose.ts";

const CLUSTERS = ["c1", "c2", "c3"] as const;
const REGIONS = ["eu-west", "eu-west", "us-east"] as const;

/**
 * One endpoint as a word: the tier it is in (0 local, 1 regional, 2 global), its condition (r, s, t, n), and
 * `@` for this node, `z` for this zone; `=2` repeats the address of the second word, `#` tells slices apart; `!` is suspected not to answer, `!!` was
 * shown not to; `|` is behind a wall; `b` is in another cluster of the tier.
 */
export function candidate(word: string, index: number): Candidate {
  const match = /^([012])([rstn])(@?)(z?)(?:=(\d))?(#?)(!{0,2})(\|?)(b?)$/.exec(word);
  assert.ok(match, word);
  const [, digit, letter, node, zone, alias, slice, silent, wall, other] = match;
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
    origin: { cluster: `${CLUSTERS[tier]}${other}`, region: REGIONS[tier] ?? "" },
    tier,
    onThisNode: node === "@",
    inThisZone: zone === "z" || node === "@",
    ...(wall === "|" && { walled: true }),
    ...(silent && { silent: silent === "!" ? "suspected" : "shown" }),
  };
}

const word = fc
  .tuple(
    fc.constantFrom(..."012".split("")),
    fc.constantFrom(..."rstn".split("")),
    fc.constantFrom("", "@", "z"),
    fc.constantFrom("", "=1", "=2"),
    fc.constantFrom("", "#"),
    fc.constantFrom("", "", "!", "!!"),
    fc.constantFrom("", "b"),
  )
  .map((parts) => parts.join(""));
/** Up to eight candidates, some at the same address. */
export const anyCandidates = fc
  .tuple(fc.array(word, { maxLength: 8 }), fc.boolean())
  .map(([words, hasWall]) => {
    const candidates = words.map(candidate);
    // A wall is around a whole tier, and an address is silent or not, whoever lists it.
    const silent = new Map(candidates.map((one) => [one.address, one.silent]));
    return candidates.map((made): Candidate => {
      const { silent: _, ...one } = made;
      const found = silent.get(one.address);
      return {
        ...one,
        ...(hasWall && one.tier === 2 && { walled: true }),
        ...(found && { silent: found }),
      };
    });
  });
/** Policies that choose among the endpoints of the active tier. */
export const anyPolicy = fc.record({
  nodeLocal: fc.boolean(),
  trafficDistribution: fc.constantFrom("PreferSameZone" as const, "PreferSameNode" as const),
});
const anyWeights = fc.dictionary(
  fc.constantFrom("c1", "c1b", "c2", "c2b", "c3", "c3b"),
  fc.integer({ min: 1, max: 9 }),
);
/** With all policies. */
export const anyWholePolicy: fc.Arbitrary<ChoicePolicy> = fc
  .tuple(anyPolicy, anyWeights, fc.integer({ min: 1, max: 4 }))
  .map(([policy, weights, endpoints]) => ({
    ...policy,
    clusterWeights: new Map(Object.entries(weights)),
    minReady: { endpoints },
  }));
/** The tier in use before, if any. */
export const anyTier = fc.constantFrom(undefined, 0, 1, 2);
