import { type Answered, LOOK_MS } from "./evidence.ts";
import type { ProbeLog } from "./probe-log.ts";
import { endpointName } from "./verdict.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** Milliseconds between two checks for groups to calibrate: while there are groups that never were, and afterwards. */
const CHECK_MS = { first: LOOK_MS, next: 15_000 };
/** Milliseconds between two calibrations of a group. */
const CALIBRATION_MS = 60_000;
/** Milliseconds since the last answer of an endpoint that is probed for it. */
const LATELY_MS = 10_000;
/** Groups of a cluster, and all groups, that are calibrated at once. */
const MOST = { ofCluster: 2, all: 32 };

/** Begins calibrations: probes endpoints that have just answered clients. Returns the milliseconds until the next ones are due. */
export function calibrate(
  answered: readonly Answered[],
  watched: WatchedEndpoints,
  probes: ProbeLog,
  follow: (work: Promise<unknown>) => void,
  now: number,
): number {
  const latest = answered.filter(({ age }) => age < LATELY_MS);
  const groups = latest.length === 0 ? [] : watched.groupsOf(latest);
  const due = groups
    .filter((group) => probes.calibratedAt(group) <= now - CALIBRATION_MS)
    .filter((group) => latest.some((one) => mayShow(one, group, watched)))
    .toSorted((a, b) => probes.calibratedAt(a) - probes.calibratedAt(b));
  const perCluster = new Map<string, number>();
  let begun = 0;
  for (const group of due) {
    const count = perCluster.get(group.cluster) ?? 0;
    const endpoint = latest.find((one) => mayShow(one, group, watched) && !probes.isPending(one));
    if (endpoint === undefined || count >= MOST.ofCluster || begun >= MOST.all) continue;
    perCluster.set(group.cluster, count + 1);
    begun++;
    const { address, port } = endpoint;
    const listing = groups.filter(({ members }) => members.has(endpointName(endpoint)));
    follow(probes.calibrate({ address, port }, group.cluster, listing));
  }
  const isNew = due.some((group) => probes.calibratedAt(group) === Number.NEGATIVE_INFINITY);
  return isNew || groups.length === 0 ? CHECK_MS.first : CHECK_MS.next;
}

function mayShow(one: Answered, { cluster, members }: Group, watched: WatchedEndpoints): boolean {
  const member = members.get(endpointName(one));
  // Policies exempt a pod's own node: a probe from there says nothing about other nodes.
  return member !== undefined && !member.isHere && watched.mayProbe(cluster, one);
}
