import type { Family } from "../../../api/address.ts";
import type { Chain } from "../nft/chains.ts";
import { oneOf, type Way } from "./affinity.ts";
import { serviceOf } from "./sets.ts";

/**
 * Numbers of services with shares. They are in the sets, so that a new process has to read them as the last one wrote them; none is a number of
 * slots.
 */

/** Added to the sum of the weights: the number of a service with shares in `services`. */
const SHARED = 2 ** 30;
/** Distance of the slots of two groups; the sum of weights, and so the number of groups, is at most 1,000. */
const GROUP = 2 ** 20;

/** A cluster's endpoints in a service with shares. */
export interface GroupNumber {
  /** From 1. */
  readonly group: number;
  readonly endpoints: number;
}

/** The number of a service whose weights have this sum. */
export function sharedNumber(units: number): number {
  return SHARED + units;
}

/** The sum of the weights of a service with shares; undefined for a number of slots. */
export function unitsOf(number: number): number | undefined {
  return number > SHARED ? number - SHARED : undefined;
}

/** The number of a group, to which `choices` leads from as many slots as the group has weight. */
export function groupNumber({ group, endpoints }: GroupNumber): number {
  return group * GROUP + endpoints;
}

/** The group of a number; undefined if it is none. */
export function groupOf(number: number): GroupNumber | undefined {
  const group = Math.floor(number / GROUP);
  const endpoints = number % GROUP;
  return group === 0 || endpoints === 0 ? undefined : { group, endpoints };
}

/** The slots of a group's endpoints. */
export function slotsOf({ group, endpoints }: GroupNumber): number[] {
  return Array.from({ length: endpoints }, (_, i) => group * GROUP + i);
}

/** The chain that takes one of `units` slots at random, and goes on to the group that the slot leads to. */
export function shareChain(family: Family, units: number): Chain {
  return {
    name: `share-${units}`,
    rules: [
      `meta priority set numgen random mod ${units}`,
      ...leadOn(family, "groups"),
      "goto translate",
    ],
  };
}

/** The chain that takes one of a group's endpoints at random. */
export function groupChain({ group, endpoints }: GroupNumber): Chain {
  return {
    name: `pick-${endpoints}-of-${group}`,
    rules: [
      `meta priority set numgen random mod ${endpoints} offset ${group * GROUP}`,
      "goto translate",
    ],
  };
}

/** The same for clients with affinity; both return. Each rule has a hash of its own, because the kernel gives each a random seed. */
export function stickyShareChain(way: Way, family: Family, units: number): Chain {
  return {
    name: `${way}-share-${units}`,
    rules: [`meta priority set ${oneOf(way, family, units)}`, ...leadOn(family, `${way}-groups`)],
  };
}

/** The chain that selects one of a group's endpoints for a client with affinity. */
export function stickyGroupChain(
  way: Way,
  family: Family,
  { group, endpoints }: GroupNumber,
): Chain {
  return {
    name: `${way}-${endpoints}-of-${group}`,
    rules: [`meta priority set ${oneOf(way, family, endpoints)} offset ${group * GROUP}`],
  };
}

/** A map of its own: through the map that leads here, the kernel would find a loop. */
function leadOn(family: Family, groups: string): string[] {
  return [
    `meta priority set ${serviceOf(family)} . meta priority map @choices`,
    `meta priority vmap @${groups}`,
  ];
}
