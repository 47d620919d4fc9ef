import { USUAL_SLOTS } from "./sets.ts";
import { groupOf, unitsOf } from "./shares.ts";

/** The numbers in a service's elements that lead to chains. */
export interface ServiceNumbers {
  /** In `services`. */
  readonly number: number;
  /** True if the service is in `affinity`. */
  readonly isSticky: boolean;
  /** In `choices`, with shares: those of its groups, in any order. */
  readonly groups: readonly number[];
}

const NONE: readonly string[] = [];

/** The chains that a service with these numbers needs, besides those that always exist. PURE. */
export function neededChains({ number, isSticky, groups }: ServiceNumbers): readonly string[] {
  if (number === 0) return NONE;
  const units = unitsOf(number);
  const pick = isSticky ? "hash" : "pick";
  if (units === undefined) return number > USUAL_SLOTS ? [`${pick}-${number}`] : NONE;
  const picks = [...new Set(groups)].flatMap((one) => {
    const found = groupOf(one);
    return found === undefined ? [] : [`${pick}-${found.endpoints}-of-${found.group}`];
  });
  return [isSticky ? `hash-share-${units}` : `share-${units}`, ...picks.sort()];
}
