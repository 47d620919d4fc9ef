import type { Reason } from "../../api/reasons.ts";
import type { TrafficDistribution } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";

/** The candidates that `trafficDistribution` prefers, and why the others are excluded; without a reason, there are none. */
export interface Narrowed {
  readonly chosen: readonly Candidate[];
  readonly to?: Extract<Reason, "other-node" | "other-zone">;
}

/** KEP-3015: the same node, else the same zone, else all; PreferSameZone starts with the zone. */
export function narrow(
  candidates: readonly Candidate[],
  distribution: TrafficDistribution | undefined,
): Narrowed {
  if (distribution === undefined) return { chosen: candidates };
  const here = candidates.filter((c) => c.onThisNode);
  if (distribution === "PreferSameNode" && here.length > 0)
    return { chosen: here, to: "other-node" };
  const near = candidates.filter((c) => c.inThisZone);
  if (near.length > 0) return { chosen: near, to: "other-zone" };
  return { chosen: candidates };
}
