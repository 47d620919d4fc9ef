import { hasAnswered, isUplinkSilent, type Neighbour } from "./clusters.ts";
import type { Answered } from "./evidence.ts";
import type { ProbeLog } from "./probe-log.ts";
import type { Verdicts } from "./verdicts.ts";
import type { WatchedEndpoints } from "./watched-endpoints.ts";

/** Milliseconds between two checks while there is a verdict. */
export const UPLINK_MS = 2_000;
/** Milliseconds for which an answer shows that a cluster is reached, and between two probes of one that nobody calls. */
const LATELY_MS = 10_000;

/** What the uplink is derived from. */
export interface UplinkOptions {
  readonly now: number;
  readonly answered: readonly Answered[];
  readonly watched: WatchedEndpoints;
  readonly verdicts: Verdicts;
  readonly probes: ProbeLog;
  /** Follows work in progress. */
  readonly follow: (work: Promise<unknown>) => void;
}

/** Whether nothing of any other cluster answers. Probes clusters of which that is not known. */
export function checkUplink({
  now,
  watched,
  verdicts,
  probes,
  follow,
  answered,
}: UplinkOptions): boolean {
  const lately = answered.filter(({ age }) => age < LATELY_MS);
  const answering = watched.byCluster(lately);
  const silent = new Set(verdicts.all.map(({ cluster }) => cluster));
  const neighbours = watched.neighbours.map((cluster): Neighbour => {
    const latest = probes.latestOf(cluster);
    const isRecent = latest !== undefined && now - latest.ended < LATELY_MS;
    if (!isRecent && !silent.has(cluster) && probes.pendingOf(cluster) === 0) {
      const [sample] = watched.sample(cluster, 1, new Set());
      if (sample) follow(probes.probe(sample, cluster, watched.groupsOf([sample])));
    }
    return {
      isSilent: silent.has(cluster) || latest?.result === "silent",
      answers: answering.has(cluster) || (isRecent && hasAnswered(latest)),
    };
  });
  return silent.size > 0 && isUplinkSilent(neighbours);
}
