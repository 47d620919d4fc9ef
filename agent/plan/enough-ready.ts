import { type MinReady, neededOf } from "../model/min-ready.ts";
import type { Candidate } from "./candidates.ts";

/** More ready endpoints, as a part of those that it needs, with which a tier comes back: one that flaps moves nothing. */
const MORE = 1 / 4;

/**
 * The nearest tier, by index, that has enough ready endpoints; undefined if none has. The tier in use keeps its place with what `minReady`
 * asks for; another needs a quarter more, at least one, or all of its endpoints. If no tier has that, or none is known to be in use, none needs more.
 */
export function nearestWithEnough(
  candidates: readonly Candidate[],
  isUsable: (candidate: Candidate) => boolean,
  minReady: MinReady,
  inUse: number | undefined,
): number | undefined {
  const enough: number[] = [];
  const steady: number[] = [];
  for (const [tier, members] of Map.groupBy(candidates, (one) => one.tier)) {
    const listed = members.filter(({ condition }) => condition !== "terminating").length;
    const needed = neededOf(minReady, listed);
    const ready = members.filter(isUsable).length;
    if (ready < needed) continue;
    enough.push(tier);
    const comesBack = needed + Math.max(1, Math.ceil(needed * MORE));
    if (tier === inUse || ready >= Math.min(comesBack, listed)) steady.push(tier);
  }
  const some = inUse === undefined || steady.length === 0 ? enough : steady;
  return some.length === 0 ? undefined : Math.min(...some);
}
