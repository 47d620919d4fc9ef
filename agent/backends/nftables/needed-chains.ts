import { groupOf, unitsOf } from "./shares.ts";
import { USUAL_SLOTS } from "./skeleton.ts";

/** The numbers in a service's elements that lead to chains. */
export interface ServiceNumbers {
  /** In `services`. */
  readonly number: number;
  /** In `affinity`: seconds; undefined without. */
  readonly timeout: number | undefined;
  /** In `choices`, with shares: those of its groups, in any order. */
  readonly groups: readonly number[];
}

const NONE: readonly string[] = [];

/** The chains that a service with these numbers needs, besides those that always exist. PURE. */
export function neededChains({ number, timeout, groups }: ServiceNumbers): readonly string[] {
  if (number === 0) return NONE;
  const units = unitsOf(number);
  const isSticky = timeout !== undefined;
  const sticky = isSticky ? [`sticky-${timeout}`] : [];
  if (units === undefined) {
    if (isSticky) return [`hash-${number}`, ...sticky];
    return number > USUAL_SLOTS ? [`pick-${number}`] : NONE;
  }
  const pick = isSticky ? "hash" : "pick";
  const picks = [...new Set(groups)].flatMap((one) => {
    const found = groupOf(one);
    return found === undefined ? [] : [`${pick}-${found.endpoints}-of-${found.group}`];
  });
  return [isSticky ? `hash-share-${units}` : `share-${units}`, ...picks.sort(), ...sticky];
}
