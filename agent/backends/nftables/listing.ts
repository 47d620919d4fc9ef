import type { ServiceKey } from "../../plan/virtual-service.ts";
import type { Element } from "../../system/nftables/element.ts";
import { commentsOf } from "../nft/chains.ts";
import type { Held, HeldObject } from "../objects.ts";
import { digestIn, digestOf, lastFields, serviceObject, splitKey } from "./elements.ts";
import { branchTo, extraPart, partNameOf, unusedMark, VERDICT_MAPS } from "./extra-chains.ts";
import { brokenWith, FOREIGN, UNUSED } from "./layout.ts";
import { chainId, explicitId, SETS, SKELETON, type SkeletonOptions, WHOLE } from "./sets.ts";
import { groupOf, slotsOf, unitsOf } from "./shares.ts";
import { skeletonChains } from "./skeleton.ts";

/** The elements of a set; undefined for one that does not have the fields of its set. */
export type Elements = readonly (Element | undefined)[];

/** The elements of our sets. */
export type Listing = Readonly<Record<keyof typeof SETS, Elements>>;

/** Endpoints that are believed of a service, at most: any program may have written the number. */
const MOST_BELIEVED = 100_000;

/** What the rules of a table say about it, besides their comments. */
export interface Rules {
  /** Of each rule: its comment, which begins with its chain in any release. An empty text for what no rule shows. */
  readonly marks: readonly string[];
  /** The elements of a set; undefined if it does not exist. Absent: not read, and taken for right. */
  readonly elementsOf?: (set: string) => Elements | undefined;
}

/** What a rule says about the table: its comment, which begins with its chain in any release, or else that another program wrote it. PURE. */
export function markOf(chain: string, comment: string): string {
  return chain === "" || comment.startsWith(`${chain} `) ? comment : `${chain} ?`;
}

/** The comments of the rules that always exist, and the elements of maps of verdicts that lead to them: always the same. */
const usual = new WeakMap<SkeletonOptions, ReadonlySet<string>>();

/**
 * The skeleton and the extra chains of a table. If anything of them is missing, changed or foreign, the skeleton is not whole, and is written again with
 * all chains. None without rules. PURE.
 */
export function chainObjects(options: SkeletonOptions, { marks, elementsOf }: Rules): Held {
  const held: Held = new Map();
  if (marks.length === 0) return held;
  const own = usual.get(options) ?? new Set(commentsOf(skeletonChains(options)));
  usual.set(options, own);
  const others = marks.filter((mark) => !own.has(mark));
  const byPart = Map.groupBy(others, (mark) => partNameOf(chainOf(mark)));
  for (const [name, found] of byPart) {
    const digest = name === undefined ? undefined : partDigest(options, name, found);
    if (name !== undefined && digest !== undefined) held.set(chainId(name), { digest });
    else return broken(own, others);
  }
  // Each once.
  if (marks.length - others.length !== own.size || !own.isSubsetOf(new Set(marks)))
    return broken(own, others);
  const isWhole = (name = "") => held.get(chainId(name))?.digest === WHOLE;
  const chains = [...own, ...[...byPart].flatMap(([name, found]) => (isWhole(name) ? found : []))];
  if (elementsOf !== undefined && !hasSets(chains, elementsOf)) return broken(own, others);
  return held.set(SKELETON, { digest: WHOLE });
}

/** The digest of an extra chain with these rules; undefined if they are not as they should be. */
function partDigest(
  options: SkeletonOptions,
  name: string,
  marks: readonly string[],
): string | undefined {
  if (marks.length === 1 && marks[0] === unusedMark(name)) return UNUSED;
  const desired = new Set(commentsOf(extraPart(options, name)?.chains ?? []));
  const isWhole = marks.length === desired.size && desired.isSubsetOf(new Set(marks));
  return isWhole ? WHOLE : undefined;
}

/** Only a skeleton, which is written again. The chains that it does not have become empty, because a map may lead to them. */
function broken(own: ReadonlySet<string>, others: readonly string[]): Held {
  const chains = new Set(others.map(chainOf).filter((name) => name !== ""));
  for (const mark of own) chains.delete(chainOf(mark));
  const parts = new Set([...chains].flatMap((name) => partNameOf(name) ?? []));
  return new Map([
    [SKELETON, { digest: brokenWith(chains) }],
    // Written again with it: elements lead to them until these are written, too.
    ...[...parts].map((name) => [chainId(name), { digest: WHOLE }] as const),
  ]);
}

/** Whether all sets exist, and the maps of verdicts have exactly the elements that lead to the chains of these rules. */
function hasSets(
  marks: readonly string[],
  elementsOf: (set: string) => Elements | undefined,
): boolean {
  const chains = new Set(marks.map(chainOf));
  const branches = Map.groupBy(
    [...chains].flatMap((chain) => branchTo(chain) ?? []),
    ({ map }) => map,
  );
  const areWhole = VERDICT_MAPS.every((map) => {
    const desired = branches.get(map) ?? [];
    const found = elementsOf(map);
    const verdictBy = new Map(found?.map((one) => [one?.key, one?.value]));
    return (
      found?.length === desired.length &&
      desired.every(({ number, verdict }) => verdictBy.get(`${number}`) === verdict)
    );
  });
  return areWhole && Object.keys(SETS).every((set) => elementsOf(set) !== undefined);
}

/** A table that is replaced: all that is in it goes. */
export const REPLACED: Held = new Map([[SKELETON, { digest: FOREIGN }]]);

/** The same with what it held: a start compares it with the first lists before anything goes. */
export function replaced(services: Held): Held {
  const gone = [...services].map(([id, one]) => [id, { ...one, digest: FOREIGN }] as const);
  return new Map([...REPLACED, ...gone]);
}

/** Whether a set has an element that is not of the form that we write. */
export function isForeign(listing: Listing): boolean {
  return Object.values(listing).some((some) => some.includes(undefined));
}

/** The VIPs and services of a table with these elements, computed in short steps. PURE. */
export function* serviceObjects(listing: Listing): Generator<void, Held> {
  const held = explicitObjects(listing);
  const endpoints = yield* byService(listing.endpoints);
  const choices = yield* byService(listing.choices);
  const [heads, affinity] = [byKey(listing.services), byKey(listing.affinity)];
  const keys = new Set([heads, affinity, endpoints, choices].flatMap((some) => [...some.keys()]));
  for (const key of keys) {
    const [targets = [], chosen = []] = [endpoints.get(key), choices.get(key)];
    const digest = digestOf(targets, chosen);
    const [slots, picks] = [lastFields(targets), lastFields(chosen)];
    const sets = { endpoints: slots, choices: picks, digest };
    held.set(key, serviceObject({ head: heads.get(key), affinity: affinity.get(key), ...sets }));
    yield;
  }
  return held;
}

/**
 * The same without looking at `endpoints`: the elements in `services` say how many there are, and have a digest of them, which the agent wrote in the same
 * transaction. Undefined if one does not. PURE.
 */
export function* believedObjects(listing: Listing): Generator<void, Held | undefined> {
  const held = explicitObjects(listing);
  const heads = byKey(listing.services);
  const choices = yield* byService(listing.choices);
  const affinity = byKey(listing.affinity);
  for (const key of [...choices.keys(), ...affinity.keys()]) if (!heads.has(key)) return undefined;
  for (const [key, head] of heads) {
    const believed = believedService(head, affinity.get(key), choices.get(key) ?? []);
    if (believed === undefined) return undefined;
    held.set(key, believed);
    yield;
  }
  return held;
}

function believedService(
  head: Element,
  affinity: Element | undefined,
  chosen: readonly Element[],
): HeldObject | undefined {
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
  return serviceObject({ head, affinity, endpoints: endpoints.sort(), choices, digest });
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

function explicitObjects({ explicit }: Listing): Held {
  return new Map(
    explicit.flatMap((one) => (one ? [[explicitId(one.key), { digest: WHOLE }]] : [])),
  );
}

function* byService(elements: Elements): Generator<void, Map<ServiceKey, Element[]>> {
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

function byKey(elements: Elements): Map<ServiceKey, Element> {
  return new Map(elements.flatMap((one) => (one ? [[one.key, one] as const] : [])));
}

/** The chain of a rule with this comment. */
function chainOf(mark: string): string {
  return mark.slice(0, mark.indexOf(" "));
}
