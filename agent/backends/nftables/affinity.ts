import type { Family } from "../../../api/address.ts";
import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/words.ts";
import { dnat, type SkeletonOptions, serviceOf } from "./skeleton.ts";

/** The default of `sessionAffinityConfig.clientIP.timeoutSeconds` (Kubernetes' DefaultClientIPServiceAffinitySeconds). */
const DEFAULT_SECONDS = 10_800;

/** The seconds for which a client is remembered: the default, or the next power of two, so that the chains are bounded. */
export function timeoutOf(seconds: number): number {
  return seconds === DEFAULT_SECONDS ? seconds : 2 ** Math.ceil(Math.log2(Math.max(1, seconds)));
}

/**
 * The chains of services with this timeout. A client that is remembered gets the same endpoint address while its service has it;
 * others are assigned by hash, so that all ports of an import assign the same.
 */
export function stickyChains({ family, remembers }: SkeletonOptions, seconds: number): Chain[] {
  const { ip } = WORDS[family];
  const client = `${ip} saddr . ${ip} daddr`;
  const remember = `update @clients { ${client} timeout ${seconds}s : meta priority }`;
  const [sticky, known, assign] = [`sticky-${seconds}`, `known-${seconds}`, `assign-${seconds}`];
  return [
    {
      name: assign,
      rules: [
        `meta priority set ${serviceOf(family)} map @services meta priority vmap @hashes`,
        `meta priority set ${serviceOf(family)} . meta priority map @choices`,
        ...(remembers ? [remember] : []),
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

/** The chain that selects one of `slots` slots by the client's address, and returns. */
export function hashChain(family: Family, slots: number): Chain {
  return {
    name: `hash-${slots}`,
    rules: [`meta priority set jhash ${WORDS[family].ip} saddr mod ${slots}`],
  };
}
