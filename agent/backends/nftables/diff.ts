import { containsAny } from "../../../api/cidr.ts";
import type { Element, ElementChange, SetLayout } from "../../system/nftables/element.ts";
import { changesOf, elementsOf } from "../nft/elements.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { foundIn, marksAfter } from "./marks.ts";
import { SETS, type SkeletonOptions } from "./sets.ts";
import { renderDeleted, renderExtra, renderRetired, renderSkeleton } from "./skeleton-text.ts";
import {
  type Changes,
  contentOf,
  type DesiredService,
  type KernelService,
  type KernelState,
  nothing,
  settled,
} from "./state.ts";
import { type ElementGroup, NftablesTransaction } from "./transaction.ts";

/** Extra chains without a service that stay, because one that is scaled up and down needs the same again. */
const MOST_UNUSED = 64;

/** The transaction that makes the kernel hold `changes`. PURE. */
export function* diff(
  found: KernelState,
  changes: Changes,
  options: SkeletonOptions,
): Generator<void, NftablesTransaction> {
  // A table with elements of another form is replaced.
  const state = found.foreign ? nothing() : found;
  const groups: ElementGroup[] = [];
  const services = new Map<ServiceKey, KernelService | undefined>();
  const needed = new Set<string>();
  for (const [key, desired] of all(state, changes)) {
    const after = desired && settled(desired);
    const group = diffService(key, state.services.get(key), desired, after);
    if (group.length > 0) {
      groups.push(group);
      services.set(key, after);
    }
    for (const name of desired?.chains ?? []) needed.add(name);
    yield;
  }
  const { family, clusterSetCidrs } = options;
  const isInside = (hex: string) => containsAny(clusterSetCidrs, { family, text: "", hex });
  const { complete } = changes;
  const vips = new Map([...changes.vips].filter(([hex]) => !isInside(hex)));
  const explicit = changesOf(state.explicit, vips, complete);
  const first = addresses(SETS.explicit, elementsOf(explicit, true));
  const last = removed(SETS.explicit, [...elementsOf(explicit, false)]);
  const skeleton = yield* foundIn(options, state.rules);
  const { extra, isWhole } = skeleton;
  const added = needed.difference(extra);
  // Only then is it worth a scan of all services. A table of another release may lack chains of the same parts.
  const mayRetire = isWhole && extra.size > MOST_UNUSED && (complete || added.size > 0);
  const unused = mayRetire ? extra.difference(usedIn(state, needed)) : new Set<string>();
  const retired = unused.size > MOST_UNUSED ? unused : new Set<string>();
  const deletes = complete || retired.size > 0;
  const deleted = deletes ? skeleton.unused.difference(needed) : new Set<string>();
  const text =
    (isWhole
      ? renderExtra(options, added)
      : renderSkeleton(options, extra.union(needed).difference(retired), skeleton.strange)) +
    renderRetired(options, retired);
  return new NftablesTransaction({
    family,
    replaces: found.foreign,
    text,
    groups: [first, ...groups, last].filter((group) => group.length > 0),
    services,
    explicit,
    rules:
      text === ""
        ? state.rules
        : yield* marksAfter(options, state.rules, skeleton, { added, retired }),
    deleted: { chains: deleted, text: renderDeleted(options, deleted) },
  });
}

/** The chains that services of the kernel use now, or will use after this transaction. */
function usedIn({ services }: KernelState, needed: ReadonlySet<string>): Set<string> {
  const used = new Set(needed);
  for (const { chains } of services.values()) for (const name of chains) used.add(name);
  return used;
}

/** The services that `changes` names, without kept ones; if it is complete, also all others of the state. */
function* all(
  { services }: KernelState,
  { complete, services: named }: Changes,
): Generator<readonly [ServiceKey, DesiredService | undefined]> {
  for (const [key, one] of named) if (one !== "kept") yield [key, one];
  if (!complete) return;
  for (const key of services.keys()) if (!named.has(key)) yield [key, undefined];
}

function diffService(
  key: ServiceKey,
  before: KernelService | undefined,
  desired: DesiredService | undefined,
  after: KernelService | undefined,
): ElementChange[] {
  const isLike = after?.digest === before?.digest;
  const last = (some: readonly string[] | undefined) => (some ?? []).map((one) => `${key} ${one}`);
  return [
    ...(isLike ? [] : removed(SETS.endpoints, last(before?.endpoints))),
    ...(isLike ? [] : removed(SETS.choices, last(before?.choices))),
    ...(isLike ? [] : added(SETS.endpoints, desired?.endpoints ?? [])),
    ...(isLike ? [] : added(SETS.choices, desired?.choices ?? [])),
    ...changed(SETS.affinity, key, before?.affinity, desired?.affinity),
    ...changed(SETS.services, key, before?.head, desired?.head),
  ];
}

function changed(
  set: SetLayout,
  key: ServiceKey,
  before: string | undefined,
  after: Element | undefined,
): ElementChange[] {
  if (before === (after && contentOf(after))) return [];
  return [
    ...removed(set, before === undefined ? [] : [key]),
    ...added(set, after === undefined ? [] : [after]),
  ];
}

function addresses(set: SetLayout, found: Iterable<string>): ElementChange[] {
  return added(
    set,
    [...found].map((hex) => ({ key: hex, value: "", comment: "" })),
  );
}

function added(set: SetLayout, elements: readonly Element[]): ElementChange[] {
  return elements.length === 0 ? [] : [{ kind: "add", set, elements }];
}

function removed(set: SetLayout, keys: readonly string[]): ElementChange[] {
  return keys.length === 0 ? [] : [{ kind: "delete", set, keys }];
}
