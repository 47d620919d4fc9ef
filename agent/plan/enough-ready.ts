import { type MinReady, neededOf } from "../model/min-ready.ts";
import type { Candidate } from "./candidates.ts";

/** The part of the needed endpoints with which a tier in use stays in use, so that one that flaps moves nothing. */
const STAYS = 3 / 4;

/**
 * The nearest tier, by index, that has enough ready endpoints; undefined if none has. That is what `minReady` asks for, and for the tier in use
 * three quarters of it, at least one endpoint less.
 */
export function nearestWithEnough(
  candidates: readonly Candidate[],
  isUsable: (candidate: Candidate) => boolean,
  minReady: MinReady,
  inUse: number | undefined,
): number | undefined {
  const enough: number[] = [];
  for (const [tier, members] of Map.groupBy(candidates, (one) => one.tier)) {
    const listed = members.filter(({ condition }) => condition !== "terminating").length;
    const needed = neededOf(minReady, listed);
    const ready = members.filter(isUsable).length;
    if (ready >= (tier === inUse ? staysWith(needed) : needed)) enough.push(tier);
  }
  return enough.length === 0 ? undefined : Math.min(...enough);
}

function staysWith(needed: number): number {
  return Math.max(1, Math.min(needed - 1, Math.ceil(needed * STAYS)));
}
