import { hasAnswered, isUplinkSilent, type Neighbour } from "./clusters.ts";
import type { Answered } from "./evidence.ts";
import type { ProbeLog } from "./probe-log.ts";
import { namesIn } from "./samples.ts";
import { endpointName } from "./verdict.ts";
import type { Verdicts } from "./verdicts.ts";
import type { WatchedEndpoints } from "./watched-endpoints.ts";

/** Milliseconds between two checks while there is a verdict. */
export const UPLINK_MS = 2_000;
/** Milliseconds for which an answer shows that a cluster is reached, and between two probes of one that nobody calls. */
const LATELY_MS = 10_000;
/** Endpoints of a sample: where a third of a cluster is dead, none of them answers once in 81 times. */
const MOST_SAMPLED = 4;

/** What the uplink is derived from. */
export interface UplinkOptions {
  /** What the last check has found. */
  readonly wasSilent: boolean;
  readonly now: number;
  readonly answered: readonly Answered[];
  readonly watched: WatchedEndpoints;
  readonly verdicts: Verdicts;
  readonly probes: ProbeLog;
  /** Follows work in progress. */
  readonly follow: (work: Promise<unknown>) => void;
}

/** The latest sample of a cluster's endpoints without a verdict. */
interface Sample {
  readonly begun: number;
  /** Undefined until it ends. */
  readonly isSilent?: boolean;
}

/** Finds whether nothing of any other cluster answers. */
export class Uplink {
  readonly #samples = new Map<string, Sample>();

  /** Endpoints with a verdict say nothing: others of their cluster may answer, and are probed first. */
  isSilent(options: UplinkOptions): boolean {
    const { answered, verdicts, wasSilent, watched } = options;
    if (!mayBeSilent(options)) return false;
    const silent = new Set(namesIn(verdicts.silence));
    const others = answered.filter((one) => !silent.has(endpointName(one)));
    const inMinutes = watched.byCluster(others);
    const clusters = watched.neighbours;
    for (const one of this.#samples.keys()) if (!clusters.includes(one)) this.#samples.delete(one);
    const found = clusters.map((cluster) => {
      if (verdicts.ofCluster(cluster) !== undefined) return true;
      const sample = this.#sampleOf(cluster, silent, options);
      if (sample !== undefined) return sample.isSilent ?? wasSilent;
      // Probes reach nothing that is left. While clients try again what had a verdict, its answers of before count for nothing.
      return wasSilent || !inMinutes.has(cluster);
    });
    return found.every((isSilent) => isSilent);
  }

  /** The latest sample of a cluster, which begins now if it is due; undefined if there is nothing that probes reach. */
  #sampleOf(
    cluster: string,
    silent: ReadonlySet<string>,
    { answered, follow, now, probes, watched }: UplinkOptions,
  ): Sample | undefined {
    const last = this.#samples.get(cluster);
    if (last !== undefined && now - last.begun < LATELY_MS) return last;
    if (probes.reachOfCluster(cluster) === "blind") return undefined;
    const names = new Set(answered.map(endpointName));
    const endpoints = watched
      .sample(cluster, MOST_SAMPLED, silent)
      .map((one) => ({ one, groups: watched.groupsOf([one]) }))
      .filter(({ one }) => !probes.isClosed(one))
      .filter(({ groups }) => groups.some((group) => probes.mayReach(group, names)));
    if (endpoints.length === 0) return undefined;
    const results = endpoints.map(({ one, groups }) => probes.probe(one, cluster, groups));
    const end = Promise.all(results).then((all) => {
      this.#samples.set(cluster, { begun: now, isSilent: all.every((one) => one === "silent") });
    });
    follow(end);
    this.#samples.set(cluster, { begun: now });
    return { begun: now };
  }
}

/** Whether no other cluster has answered lately. Probes those of which that is not known. */
function mayBeSilent({ now, watched, verdicts, probes, follow, answered }: UplinkOptions): boolean {
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
