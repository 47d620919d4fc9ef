import type { Element } from "../../system/nftables/element.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { digestIn, digestOf } from "./digest.ts";
import type { SETS } from "./sets.ts";
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
  const slots = Number(head.value);
  const digest = slots === 0 ? digestOf([], []) : digestIn(head.comment);
  if (digest === undefined || slots > MOST_BELIEVED) return undefined;
  if (chosen.length !== (affinity === undefined ? 0 : slots)) return undefined;
  const choices = lastFields(chosen);
  const ids = chosen.map(({ value }) => value);
  const endpoints = affinity === undefined ? slotsOf(slots) : ["0", ...ids].sort();
  return { head: contentOf(head), affinity, endpoints, choices, digest };
}

/** `0` to one less than this, sorted as texts. */
function slotsOf(slots: number): string[] {
  return Array.from({ length: slots }, (_, slot) => `${slot}`).sort();
}

/** Everything but the services. */
function stateWithout(listing: Listing, rules: readonly string[]): KernelState {
  const state = nothing();
  state.rules = [...rules].sort();
  state.foreign = Object.values(listing).some((some) => some.includes(undefined));
  for (const one of listing.explicit) if (one) state.explicit.add(one.key);
  for (const one of listing.hairpins) {
    const [address = "", again] = one?.key.split(" ") ?? [];
    if (address === again) state.hairpins.add(address);
    else state.foreign = true;
  }
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
