import type { Family } from "../../api/address.ts";
import { counted } from "../../api/count.ts";
import { shown } from "../../api/problem.ts";
import { type Finding, ok, unknown } from "./finding.ts";

/** An endpoint that the node connects to. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** The endpoints of other clusters that probes of this node may connect to. */
export interface Neighbours {
  /** IDs of these clusters. A finding names the first ones. */
  readonly neighbours: readonly string[];
  /** Up to `count` endpoints of a cluster, at random. */
  sample(cluster: string, count: number, except: ReadonlySet<string>): readonly Endpoint[];
}

/** How the connections to endpoints of a cluster ended, when they were last tried. */
export interface Reached {
  readonly cluster: string;
  readonly accepted: number;
  readonly tried: number;
  /** Tries in a row, this one included, in which none accepted. */
  readonly misses: number;
  /** When it was tried, and when it is again; milliseconds of the clock. */
  readonly at: number;
  readonly due: number;
}

/** Endpoints of a cluster, and clusters, that are tried in one run. */
export const MOST_TRIED = { ofCluster: 3, clusters: 8 } as const;
/** Milliseconds until a cluster that was reached is tried again, and one that was not: thousands of nodes may try the only pod of a cluster. */
export const REACHED_MS = 900_000;
export const MISSED = { min: 60_000, max: REACHED_MS };
/** Clusters that a finding names. */
const MOST_NAMED = 8;

/** The clusters to try now: those that were never tried, or not for longest, first. */
export function dueClusters(
  clusters: readonly string[],
  known: ReadonlyMap<string, Reached>,
  now: number,
): string[] {
  const triedAt = (cluster: string) => known.get(cluster)?.at ?? Number.NEGATIVE_INFINITY;
  return clusters
    .filter((cluster) => now >= (known.get(cluster)?.due ?? now))
    .toSorted((a, b) => triedAt(a) - triedAt(b))
    .slice(0, MOST_TRIED.clusters);
}

/** What the ends of the connections show. A fault of this node shows nothing, and a firewall can refuse in the name of any endpoint. `before`: what the last try showed. */
export function reachedOf(
  cluster: string,
  ends: readonly string[],
  before: Reached | undefined,
): Omit<Reached, "at" | "due"> {
  const tried = ends.filter((end) => end !== "unknown").length;
  const accepted = ends.filter((end) => end === "accepted").length;
  const misses = (before?.misses ?? 0) + (tried > 0 ? 1 : 0);
  return { cluster, accepted, tried, misses: accepted > 0 ? 0 : misses };
}

/**
 * Whether probes of failure detection reach other clusters, before anything there dies. `reached`: undefined before objects were listed. No alarm: endpoints that do
 * not answer may be dead. Where they answer clients, `blind` is reported by failure detection itself.
 */
export function checkReach(family: Family, reached: readonly Reached[] | undefined): Finding {
  const key = { check: "reach", family } as const;
  if (reached === undefined) return unknown(key, "No EndpointSlices were listed yet.");
  const tried = reached.filter((one) => one.tried > 0);
  if (tried.length === 0)
    return unknown(key, "No other cluster has an endpoint that this node may connect to.");
  const missed = tried.filter(({ accepted }) => accepted === 0);
  const others = tried.filter(({ accepted }) => accepted > 0);
  if (missed.length === 0) return ok(key, listed(others));
  const advice = `This node reached ${listed(missed)}${others.length > 0 ? `, but ${listed(others)}` : ""}. Unless these pods are dead, NetworkPolicies must admit the addresses of nodes, and the network must route them: without that, detection of dead endpoints there takes up to 7 s.`;
  return { ...unknown(key, advice), reason: "blind" };
}

/** `0 of 3 endpoints of "c2", 1 of 2 endpoints of "c3"`. */
function listed(all: readonly Reached[]): string {
  const named = all
    .slice(0, MOST_NAMED)
    .map(
      ({ accepted, tried, cluster }) =>
        `${accepted} of ${counted(tried, "endpoint")} of ${shown(cluster)}`,
    );
  const more = all.length - named.length;
  return [...named, ...(more > 0 ? [counted(more, "more cluster")] : [])].join(", ");
}
