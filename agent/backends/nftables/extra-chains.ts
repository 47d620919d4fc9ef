import type { Chain } from "../nft/chains.ts";
import { slotChain, stickyChains, type Way, waysOf } from "./affinity.ts";
import {
  type GroupNumber,
  groupChain,
  groupNumber,
  shareChain,
  sharedNumber,
  stickyGroupChain,
  stickyShareChain,
} from "./shares.ts";
import { pickChain, type SkeletonOptions, USUAL_SLOTS } from "./skeleton.ts";

/** An element of a map of verdicts. */
export interface Branch {
  readonly map:
    | "picks"
    | "hashes"
    | "draws"
    | "timeouts"
    | "groups"
    | "hash-groups"
    | "draw-groups";
  readonly number: number;
  readonly verdict: string;
}

/** A part of the skeleton. The comments of its rules have a digest of all its rules. */
export interface Part {
  /** Names of maps of verdicts that only such parts need. */
  readonly maps?: readonly string[];
  readonly chains: readonly Chain[];
  readonly branches: readonly Branch[];
}

/** The map that leads to a chain that selects a slot. */
const SELECTIONS = { hash: "hashes", draw: "draws" } as const;

/** Chains that exist only where a service needs them, by their names: the numbers in the name say the rest. */
const KINDS: readonly (readonly [
  name: RegExp,
  part: (options: SkeletonOptions, first: number, second: number) => Part,
])[] = [
  [/^pick-(\d+)$/, (_, slots) => ({ chains: [pickChain(slots)], branches: [pickBranch(slots)] })],
  [
    /^hash-(\d+)$/,
    (options, slots) =>
      eachWay(options, (way) =>
        leadTo(slotChain(way, options.family, slots), selection(way, slots)),
      ),
  ],
  [
    /^sticky-(\d+)$/,
    (options, seconds) =>
      shared({
        chains: stickyChains(options, seconds),
        branches: [{ map: "timeouts", number: seconds, verdict: `goto sticky-${seconds}` }],
      }),
  ],
  [
    /^share-(\d+)$/,
    ({ family }, units) =>
      shared(leadTo(shareChain(family, units), { map: "picks", number: sharedNumber(units) })),
  ],
  [
    /^pick-(\d+)-of-(\d+)$/,
    (_, endpoints, group) =>
      shared(leadTo(groupChain({ endpoints, group }), ofGroup("groups", { endpoints, group }))),
  ],
  [
    /^hash-share-(\d+)$/,
    (options, units) =>
      eachWay(options, (way) =>
        leadTo(stickyShareChain(way, options.family, units), selection(way, sharedNumber(units))),
      ),
  ],
  [
    /^hash-(\d+)-of-(\d+)$/,
    (options, endpoints, group) =>
      eachWay(options, (way) => {
        const place = ofGroup(`${way}-groups`, { endpoints, group });
        return leadTo(stickyGroupChain(way, options.family, { endpoints, group }), place);
      }),
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

/** The names of extra chains for these rules' chains; `pick-1` to `pick-64` always exist. PURE. */
export function isExtra(name: string): boolean {
  const [, slots] = /^pick-(\d+)$/.exec(name) ?? [];
  if (slots !== undefined) return Number(slots) > USUAL_SLOTS;
  return KINDS.some(([pattern]) => pattern.test(name));
}

/** The element of `picks` for a number of slots. */
export function pickBranch(slots: number): Branch {
  return { map: "picks", number: slots, verdict: `goto pick-${slots}` };
}

interface Place {
  readonly map: Branch["map"];
  readonly number: number;
  /** `goto` by default. */
  readonly verb?: "jump";
}

function leadTo(chain: Chain, { map, number, verb }: Place): Part {
  const verdict = `${verb ?? "goto"} ${chain.name}`;
  return { chains: [chain], branches: [{ map, number, verdict }] };
}

/** What clients with affinity need: chains by hash and at random. They exist together, under the name of the former. */
function eachWay(options: SkeletonOptions, partOf: (way: Way) => Part): Part {
  const parts = waysOf(options).map(partOf);
  return shared({
    chains: parts.flatMap(({ chains }) => chains),
    branches: parts.flatMap(({ branches }) => branches),
  });
}

function selection(way: Way, number: number): Place {
  return { map: SELECTIONS[way], number, verb: "jump" };
}

function ofGroup(map: Branch["map"], group: GroupNumber): Place {
  return { map, number: groupNumber(group) };
}

/** Maps of verdicts that tables of earlier releases lack. */
export const SHARED_MAPS: readonly string[] = ["groups", "hash-groups", "draws", "draw-groups"];

function shared(part: Part): Part {
  return { ...part, maps: SHARED_MAPS };
}
