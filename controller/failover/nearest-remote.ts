import type { Origin } from "../../api/tiers/cluster-selectors.ts";
import { type Tiers, tierIndex } from "../../api/tiers/tiers.ts";
import type { Contribution, ImportableSlice } from "../import/imported-slices.ts";
import { staleContent } from "../import/slice-manifest.ts";
import type { SliceFact } from "../model/facts.ts";
import { portKey } from "./local-endpoints.ts";

/** A slice of another cluster, with the ports and endpoints of it that are used. */
export interface RemoteSlice {
  readonly cluster: string;
  readonly slice: SliceFact;
  /** False: its endpoints are only serving. */
  readonly ready: boolean;
}

/** Endpoints of a slice that are equally good. The lowest rank of a port is used. */
interface Ranked extends RemoteSlice {
  readonly rank: number;
}

/**
 * For each port and family, the ready endpoints of the nearest tier that has some; else the serving ones of the nearest tier that
 * has those, as agents choose them. Nothing behind a wall. `slices`: of other clusters only. PURE.
 */
export function nearestRemote(
  slices: readonly ImportableSlice[],
  tiers: Tiers,
): readonly RemoteSlice[] {
  const ranked = slices.flatMap((one) => ranksOf(one, tiers));
  const best = new Map<string, number>();
  for (const { rank, slice } of ranked) {
    for (const port of slice.ports) {
      const key = portKey(slice.family, port);
      best.set(key, Math.min(rank, best.get(key) ?? rank));
    }
  }
  return ranked.flatMap(({ cluster, rank, ready, slice }) => {
    const ports = slice.ports.filter((port) => best.get(portKey(slice.family, port)) === rank);
    return ports.length === 0 ? [] : [{ cluster, ready, slice: { ...slice, ports } }];
  });
}

function ranksOf({ contribution, slice }: ImportableSlice, tiers: Tiers): Ranked[] {
  const tier = tierIndex(originOf(contribution), tiers);
  if (tiers[tier]?.walled) return [];
  const { cluster } = contribution.record;
  const { endpoints } = contribution.state === "alive" ? slice : staleContent(slice);
  // One that does not serve can be ready: if its Service publishes unready endpoints.
  const serving = endpoints.filter((one) => one.serving);
  return [true, false].flatMap((ready): Ranked[] => {
    const used = serving.filter((one) => one.ready === ready);
    const rank = ready ? tier : tiers.length + tier;
    return used.length === 0
      ? []
      : [{ cluster, rank, ready, slice: { ...slice, endpoints: used } }];
  });
}

/** The cluster as agents see it by its imported slices. */
function originOf({ record, cluster }: Contribution): Origin {
  const { region, properties } = cluster ?? {};
  return {
    cluster: record.cluster,
    ...(region !== undefined && { region }),
    ...(properties !== undefined && { properties: new Map(Object.entries(properties)) }),
  };
}
