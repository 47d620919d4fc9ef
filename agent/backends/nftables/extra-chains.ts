import type { Chain } from "../nft/chains.ts";
import { hashChain, stickyChains } from "./affinity.ts";
import {
  type GroupNumber,
  groupChain,
  groupNumber,
  hashGroupChain,
  hashShareChain,
  shareChain,
  sharedNumber,
} from "./shares.ts";
import { pickChain, type SkeletonOptions, USUAL_SLOTS } from "./skeleton.ts";

/** An element of a map of verdicts. */
export interface Branch {
  readonly map: "picks" | "hashes" | "timeouts" | "groups" | "hash-groups";
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

/** Chains that exist only where a service needs them, by their names: the numbers in the name say the rest. */
const KINDS: readonly (readonly [
  name: RegExp,
  part: (options: SkeletonOptions, first: number, second: number) => Part,
])[] = [
  [/^pick-(\d+)$/, (_, slots) => ({ chains: [pickChain(slots)], branches: [pickBranch(slots)] })],
  [
    /^hash-(\d+)$/,
    ({ family }, slots) =>
      leadTo(hashChain(family, slots), { map: "hashes", number: slots, verb: "jump" }),
  ],
  [
    /^sticky-(\d+)$/,
    (options, seconds) => ({
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
    ({ family }, units) => {
      const number = sharedNumber(units);
      return shared(leadTo(hashShareChain(family, units), { map: "hashes", number, verb: "jump" }));
    },
  ],
  [
    /^hash-(\d+)-of-(\d+)$/,
    ({ family }, endpoints, group) => {
      const place = ofGroup("hash-groups", { endpoints, group });
      return shared(leadTo(hashGroupChain(family, { endpoints, group }), place));
    },
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

function ofGroup(map: Branch["map"], group: GroupNumber): Place {
  return { map, number: groupNumber(group) };
}

/** Tables of earlier releases lack these maps. */
function shared(part: Part): Part {
  return { ...part, maps: ["groups", "hash-groups"] };
}
