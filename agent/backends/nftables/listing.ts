import type { Element } from "../../system/nftables/element.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { digestIn, digestOf } from "./digest.ts";
import { neededChains } from "./needed-chains.ts";
import type { SETS } from "./sets.ts";
import { groupOf, slotsOf, unitsOf } from "./shares.ts";
import {
  contentOf,
  type KernelService,
  type KernelState,
  lastFields,
  nothing,
  splitKey,
} from "./state.ts";

/** The elements of our sets; undefined for one that does not have the fields of its set. */
export type Listing = Readonly<Record<keyof typeof SETS, readonly (Element | undefined)[]>>;

/** Endpoints that are believed of a service, at most: any program may have written the number. */
const MOST_BELIEVED = 100_000;

/** The state of a kernel with these elements, and rules with these comments, computed in short steps. PURE. */
export function* stateOf(listing: Listing, rules: readonly string[]): Generator<void, KernelState> {
  const state = stateWithout(listing, rules);
  const endpoints = yield* byService(listing.endpoints);
  const choices = yield* byService(listing.choices);
  const [heads, affinity] = [byKey(listing.services), contents(listing.affinity)];
  const keys = new Set([heads, affinity, endpoints, choices].flatMap((some) => [...some.keys()]));
  for (const key of keys) {
    const [head, targets, chosen] = [heads.get(key), endpoints.get(key), choices.get(key)];
    state.services.set(key, {
      head: head && contentOf(head),
      affinity: affinity.get(key),
      endpoints: lastFields(targets ?? []),
      choices: lastFields(chosen ?? []),
      digest: digestOf(targets ?? [], chosen ?? []),
      chains: chainsOf(head, affinity.get(key), chosen ?? []),
    });
    yield;
  }
  return state;
}

/**
 * The same without looking at `endpoints`: the elements in `services` say how many there are, and have a digest of them, which the agent wrote in the same
 * transaction. Undefined if one does not. PURE.
 */
export function* believedState(
  listing: Listing,
  rules: readonly string[],
): Generator<void, KernelState | undefined> {
  const state = stateWithout({ ...listing, endpoints: [] }, rules);
  const heads = byKey(listing.services);
  const choices = yield* byService(listing.choices);
  const affinity = contents(listing.affinity);
  for (const key of [...choices.keys(), ...affinity.keys()]) if (!heads.has(key)) return undefined;
  for (const [key, head] of heads) {
    const sticky = affinity.get(key);
    const believed = believedService(head, sticky, choices.get(key) ?? []);
    if (believed === undefined) return undefined;
    state.services.set(key, believed);
    yield;
  }
  return state;
}

function believedService(
  head: Element,
  affinity: string | undefined,
  chosen: readonly Element[],
): KernelService | undefined {
  const number = Number(head.value);
  const digest = number === 0 ? digestOf([], []) : digestIn(head.comment);
  const units = unitsOf(number);
  const slots = units === undefined ? believedSlots(number) : slotsOfUnits(units, chosen);
  if (digest === undefined || slots === undefined) return undefined;
  const picked = affinity === undefined ? 0 : slots.length;
  if (chosen.length !== (units ?? 0) + picked) return undefined;
  const ids = chosen.filter((one) => !isUnit(one, units)).map(({ value }) => value);
  const places = affinity === undefined ? slots.map(String) : ids;
  // Slot 0 is an endpoint of its own only where it is no other.
  const endpoints = affinity === undefined && units === undefined ? places : ["0", ...places];
  const choices = lastFields(chosen);
  return {
    ...{ head: contentOf(head), affinity, endpoints: endpoints.sort(), choices, digest },
    chains: chainsOf(head, affinity, chosen),
  };
}

function chainsOf(
  head: Element | undefined,
  affinity: string | undefined,
  chosen: readonly Element[],
): readonly string[] {
  const number = Number(head?.value ?? 0);
  const units = unitsOf(number);
  const groups = chosen.filter((one) => isUnit(one, units)).map(({ value }) => Number(value));
  return neededChains({ number, isSticky: affinity !== undefined, groups });
}

/** The slots of a service without shares; undefined if they are too many. */
function believedSlots(number: number): number[] | undefined {
  return number > MOST_BELIEVED ? undefined : Array.from({ length: number }, (_, slot) => slot);
}

/** The slots of the groups that the units of a service with shares lead to; undefined if one leads to none, or they are too many. */
function slotsOfUnits(units: number, chosen: readonly Element[]): number[] | undefined {
  const found = chosen.filter((one) => isUnit(one, units)).map(({ value }) => Number(value));
  const groups = [...new Set(found)].flatMap((number) => groupOf(number) ?? []);
  const total = groups.reduce((sum, { endpoints }) => sum + endpoints, 0);
  const isGood = found.every((number) => groupOf(number) !== undefined);
  return isGood && total <= MOST_BELIEVED ? groups.flatMap(slotsOf) : undefined;
}

function isUnit({ key }: Element, units = 0): boolean {
  return Number(splitKey(key)[1]) < units;
}

/** Everything but the services. */
function stateWithout(listing: Listing, rules: readonly string[]): KernelState {
  const state = nothing();
  state.rules = [...rules].sort();
  state.foreign = Object.values(listing).some((some) => some.includes(undefined));
  for (const one of listing.explicit) if (one) state.explicit.add(one.key);
  return state;
}

function* byService(
  elements: readonly (Element | undefined)[],
): Generator<void, Map<ServiceKey, Element[]>> {
  const found = new Map<ServiceKey, Element[]>();
  for (const element of elements) {
    if (element === undefined) continue;
    const [service] = splitKey(element.key);
    const same = found.get(service);
    if (same === undefined) found.set(service, [element]);
    else same.push(element);
    yield;
  }
  return found;
}

function byKey(elements: readonly (Element | undefined)[]): Map<ServiceKey, Element> {
  return new Map(elements.flatMap((one) => (one ? [[one.key, one] as const] : [])));
}

function contents(elements: readonly (Element | undefined)[]): Map<ServiceKey, string> {
  return new Map([...byKey(elements)].map(([key, one]) => [key, contentOf(one)]));
}
