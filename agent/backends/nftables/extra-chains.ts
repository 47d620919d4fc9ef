import type { Chain } from "../nft/chains.ts";
import { slotChain, type Way, waysOf } from "./affinity.ts";
import { type SkeletonOptions, USUAL_SLOTS } from "./sets.ts";
import {
  groupChain,
  groupNumber,
  groupOf,
  shareChain,
  sharedNumber,
  stickyGroupChain,
  stickyShareChain,
  unitsOf,
} from "./shares.ts";
import { pickChain } from "./skeleton.ts";

/** An element of a map of verdicts. */
export interface Branch {
  readonly map: VerdictMap;
  readonly number: number;
  readonly verdict: string;
}

/** The maps of verdicts. `timeouts` is of 0.2.0, which does not flush it at a roll back: it stays, and without verdicts. */
export const VERDICT_MAPS = [
  ...["picks", "hashes", "touches", "groups", "hash-groups", "draws", "draw-groups", "timeouts"],
] as const;
type VerdictMap = (typeof VERDICT_MAPS)[number];

/** The map that leads to a chain, by the name of the chain without its numbers. */
const MAPS: Readonly<Record<string, VerdictMap>> = {
  ...{ pick: "picks", share: "picks", touch: "touches", "pick-of": "groups" },
  ...{ hash: "hashes", "hash-share": "hashes", "hash-of": "hash-groups" },
  ...{ draw: "draws", "draw-share": "draws", "draw-of": "draw-groups" },
};

/** The only element that leads to a chain; undefined if no map leads to it. PURE. */
export function branchTo(chain: string): Branch | undefined {
  const [, words = "", first = "", second] = /^([a-z-]+)-(\d+)(?:-of-(\d+))?$/.exec(chain) ?? [];
  const map = MAPS[second === undefined ? words : `${words}-of`];
  if (map === undefined) return undefined;
  const endpoints = Number(first);
  const isShare = words.endsWith("share");
  const number =
    second !== undefined
      ? groupNumber({ endpoints, group: Number(second) })
      : isShare
        ? sharedNumber(endpoints)
        : endpoints;
  // Chains that select a slot, or set a timeout, return.
  const verb = map === "hashes" || map === "draws" || map === "touches" ? "jump" : "goto";
  return { map, number, verdict: `${verb} ${chain}` };
}

/** A part of the skeleton. The comments of its rules have a digest of all its rules. */
export interface Part {
  readonly chains: readonly Chain[];
  readonly branches: readonly Branch[];
}

/** Chains that exist only where a service needs them, by their names: the numbers in the name say the rest. */
const KINDS: readonly (readonly [
  name: RegExp,
  part: (options: SkeletonOptions, first: number, second: number) => Part,
])[] = [
  [/^pick-(\d+)$/, (_, slots) => partOf(pickChain(slots))],
  [
    /^hash-(\d+)$/,
    (options, slots) => eachWay(options, (way) => slotChain(way, options.family, slots)),
  ],
  [/^share-(\d+)$/, ({ family }, units) => partOf(shareChain(family, units))],
  [/^pick-(\d+)-of-(\d+)$/, (_, endpoints, group) => partOf(groupChain({ endpoints, group }))],
  [
    /^hash-share-(\d+)$/,
    (options, units) => eachWay(options, (way) => stickyShareChain(way, options.family, units)),
  ],
  [
    /^hash-(\d+)-of-(\d+)$/,
    (options, endpoints, group) =>
      eachWay(options, (way) => stickyGroupChain(way, options.family, { endpoints, group })),
  ],
];

/** The part of the skeleton with this chain; undefined if the name is of no such chain. PURE. */
export function extraPart(options: SkeletonOptions, name: string): Part | undefined {
  for (const [pattern, part] of KINDS) {
    const [whole, first, second] = pattern.exec(name) ?? [];
    if (whole !== undefined) return part(options, Number(first), Number(second));
  }
  return undefined;
}

/** Whether a chain of this name is an extra one; those for 1 to 64 slots always exist. PURE. */
export function isExtra(name: string): boolean {
  const [, slots] = /^(?:pick|hash|draw)-(\d+)$/.exec(name) ?? [];
  return (
    (slots === undefined || Number(slots) > USUAL_SLOTS) &&
    KINDS.some(([pattern]) => pattern.test(name))
  );
}

/** These chains, and what leads to them. PURE. */
export function partOf(...chains: readonly Chain[]): Part {
  return { chains, branches: chains.flatMap(({ name }) => branchTo(name) ?? []) };
}

/** What clients with affinity need: chains by hash and at random. They exist together, under the name of the former. */
function eachWay(options: SkeletonOptions, chainOf: (way: Way) => Chain): Part {
  return partOf(...waysOf(options).map(chainOf));
}

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

/** The comment of the only rule of an extra chain to which no map leads any more. */
export function unusedMark(name: string): string {
  return `${name} 1 unused`;
}

/** The extra chain that a chain is a part of; undefined if it is part of none. PURE. */
export function partNameOf(chain: string): string | undefined {
  const name = chain.replace(/^draw-/, "hash-");
  return isExtra(name) ? name : undefined;
}

/** The names of all chains of these parts. PURE. */
export function chainNames(options: SkeletonOptions, parts: Iterable<string>): Set<string> {
  const chains = [...parts].flatMap((name) => extraPart(options, name)?.chains ?? []);
  return new Set(chains.map(({ name }) => name));
}

/** True for the name of a chain that nft accepts as it is. PURE. */
export function isChainName(name: string): boolean {
  return /^[A-Za-z][\w.-]*$/.test(name);
}
