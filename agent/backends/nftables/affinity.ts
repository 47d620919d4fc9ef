import type { Family } from "../../../api/address.ts";
import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/chains.ts";
import { dnat, type SkeletonOptions, serviceOf } from "./skeleton.ts";

/** The default of `sessionAffinityConfig.clientIP.timeoutSeconds` (Kubernetes' DefaultClientIPServiceAffinitySeconds). */
const DEFAULT_SECONDS = 10_800;

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

/**
 * The chains of services with this timeout. A client that is remembered gets the same endpoint address while its service has it.
 * Others get one at random, so that a client whose time is over may get another one, and are remembered. If `clients` is full,
 * `update` ends its rule: then they are assigned by hash, and keep their endpoint as long as the endpoints stay the same.
 */
export function stickyChains({ family, remembers }: SkeletonOptions, seconds: number): Chain[] {
  const { ip } = WORDS[family];
  const client = `${ip} saddr . ${ip} daddr`;
  const remember = `update @clients { ${client} timeout ${seconds}s : meta priority }`;
  const [sticky, known, assign] = [`sticky-${seconds}`, `known-${seconds}`, `assign-${seconds}`];
  const chosenBy = (map: "draws" | "hashes") => [
    `meta priority set ${serviceOf(family)} map @services meta priority vmap @${map}`,
    `meta priority set ${serviceOf(family)} . meta priority map @choices`,
  ];
  return [
    {
      name: assign,
      rules: [
        ...(remembers ? [...chosenBy("draws"), `${remember} goto translate`] : []),
        ...chosenBy("hashes"),
        "goto translate",
      ],
    },
    {
      name: known,
      // The set may be full, and the endpoint may have left.
      rules: remembers
        ? [
            remember,
            dnat(family),
            `delete @clients { ${client} : meta priority }`,
            `goto ${assign}`,
          ]
        : [],
    },
    {
      name: sticky,
      rules: [
        ...(remembers ? [`meta priority set ${client} map @clients goto ${known}`] : []),
        `goto ${assign}`,
      ],
    },
  ];
}

/** How a chain of services with affinity selects one of so many: by the client's address, or at random. */
export type Way = "hash" | "draw";

/** The ways that are used: without memory, none at random. */
export function waysOf({ remembers }: SkeletonOptions): readonly Way[] {
  return remembers ? ["hash", "draw"] : ["hash"];
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
