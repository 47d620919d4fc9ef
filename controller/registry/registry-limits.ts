import type { Limit } from "../../api/quota.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import {
  MOST_RECORD_CHARACTERS,
  MOST_RECORDS,
  MOST_REGISTRY_ENDPOINTS,
  MOST_REGISTRY_PORTS,
  MOST_REGISTRY_SLICES,
  type OverLimit,
} from "../model/limits.ts";

export const RECORD_LIMITS: readonly Limit<Pick<ExportRecord, "metadata">>[] = [
  { reason: "too-many-records", most: MOST_RECORDS, weigh: () => 1 },
  { reason: "too-many-keys", most: MOST_RECORD_CHARACTERS, weigh: charactersOf },
];

/** `maxRules`: endpoints times ports. Session affinity is not a slice's, so it is counted for each import alone. */
export function sliceLimits(
  maxRules: number,
): readonly Limit<Pick<SliceFact, "endpoints" | "ports">, OverLimit>[] {
  return [
    { reason: "too-many-slices", most: MOST_REGISTRY_SLICES, weigh: () => 1 },
    {
      reason: "too-many-endpoints",
      most: MOST_REGISTRY_ENDPOINTS,
      weigh: ({ endpoints }) => endpoints.length,
    },
    { reason: "too-many-ports", most: MOST_REGISTRY_PORTS, weigh: ({ ports }) => ports.length },
    {
      reason: "too-many-rules",
      most: maxRules,
      weigh: ({ endpoints, ports }) => endpoints.length * ports.length,
    },
  ];
}

function charactersOf({ metadata }: Pick<ExportRecord, "metadata">): number {
  let characters = 0;
  for (const map of [metadata.labels, metadata.annotations]) {
    for (const [key, value] of Object.entries(map)) characters += key.length + value.length;
  }
  return characters;
}
