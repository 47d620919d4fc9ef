import type { Family } from "../../../api/address.ts";
import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/chains.ts";
import { dnat, type SkeletonOptions, serviceOf, USUAL_SLOTS } from "./sets.ts";

/** The default of `sessionAffinityConfig.clientIP.timeoutSeconds`, and the most (Kubernetes' DefaultClientIPServiceAffinitySeconds, MaxClientIPServiceAffinitySeconds). */
const DEFAULT_SECONDS = 10_800;
const MOST_SECONDS = 86_400;

/** Steps in which timeouts double. */
const STEPS = 8;

/**
 * The seconds for which a client is remembered: the default, or the next of eight steps to the next power of two, so that the chains are
 * bounded. Exact up to 16 s and for 20, 30, 60, 120 and 240 s; at most an eighth more than any other.
 */
export function timeoutOf(seconds: number): number {
  if (seconds === DEFAULT_SECONDS) return seconds;
  const step = Math.max(1, 2 ** Math.floor(Math.log2(Math.max(1, seconds) / STEPS)));
  return Math.max(1, Math.ceil(seconds / step) * step);
}

/** Every result of `timeoutOf`, ascending. */
function timeouts(): number[] {
  const found = new Set([timeoutOf(DEFAULT_SECONDS)]);
  for (let next = 1; next <= MOST_SECONDS; ) {
    const seconds = timeoutOf(next);
    found.add(seconds);
    next = seconds + 1;
  }
  found.add(timeoutOf(MOST_SECONDS));
  return [...found].sort((a, b) => a - b);
}

/**
 * The chains of services with affinity. A client that is remembered gets the same endpoint address while its service has it.
 * Others get one at random, so that a client whose time is over may get another one, and are remembered. If `clients` is full,
 * `update` ends its rule: then they are assigned by hash, and keep their endpoint as long as the endpoints stay the same.
 *
 * A timeout is constant in its rule: each has a chain that sets it for a client that is remembered already.
 */
export function affinityChains({ family, affinity }: SkeletonOptions): Chain[] {
  if (affinity === "unsupported") return [];
  const remembers = affinity === "remembered";
  const ways = waysOf({ affinity });
  return [
    ...(remembers ? rememberingChains(family) : []),
    {
      name: "assign",
      rules: [
        ...(remembers
          ? [...chosenBy(family, "draws"), `${remember(family, DEFAULT_SECONDS)} goto remembered`]
          : []),
        ...chosenBy(family, "hashes"),
        "goto translate",
      ],
    },
    {
      name: "sticky",
      rules: [...(remembers ? [`${recall(family)} goto known`] : []), "goto assign"],
    },
    ...Array.from({ length: USUAL_SLOTS }, (_, i) =>
      ways.map((way) => slotChain(way, family, i + 1)),
    ).flat(),
  ];
}

function rememberingChains(family: Family): Chain[] {
  const setTimeout = `meta priority set ${serviceOf(family)} map @affinity meta priority vmap @touches`;
  return [
    ...timeouts().map((seconds) => ({
      name: `touch-${seconds}`,
      // One rule: if another packet has just deleted the client, nothing is written.
      rules: [`${recall(family)} ${remember(family, seconds)}`],
    })),
    { name: "remembered", rules: [setTimeout, "goto translate"] },
    {
      name: "known",
      // The endpoint may have left.
      rules: [
        setTimeout,
        dnat(family),
        `delete @clients { ${client(family)} : meta priority }`,
        "goto assign",
      ],
    },
  ];
}

/** The addresses of a connection, by which clients are remembered. */
function client(family: Family): string {
  const { ip } = WORDS[family];
  return `${ip} saddr . ${ip} daddr`;
}

/** The statement that takes the ID of a client that is remembered. */
function recall(family: Family): string {
  return `meta priority set ${client(family)} map @clients`;
}

/** The statement that remembers the ID in `meta priority`, and how long. */
function remember(family: Family, seconds: number): string {
  return `update @clients { ${client(family)} timeout ${seconds}s : meta priority }`;
}

/** The rules that choose an ID. */
function chosenBy(family: Family, map: "draws" | "hashes"): string[] {
  return [
    `meta priority set ${serviceOf(family)} map @services meta priority vmap @${map}`,
    `meta priority set ${serviceOf(family)} . meta priority map @choices`,
  ];
}

/** How a chain of services with affinity selects one of so many: by the client's address, or at random. */
export type Way = "hash" | "draw";

/** The ways that are used: without memory, none at random. */
export function waysOf({ affinity }: Pick<SkeletonOptions, "affinity">): readonly Way[] {
  return affinity === "remembered" ? ["hash", "draw"] : ["hash"];
}

/** The expression for one of `number`, from 0. */
export function oneOf(way: Way, family: Family, number: number): string {
  return way === "draw"
    ? `numgen random mod ${number}`
    : `jhash ${WORDS[family].ip} saddr mod ${number}`;
}

/** The chain that selects one of `slots` slots, and returns. */
export function slotChain(way: Way, family: Family, slots: number): Chain {
  return { name: `${way}-${slots}`, rules: [`meta priority set ${oneOf(way, family, slots)}`] };
}
