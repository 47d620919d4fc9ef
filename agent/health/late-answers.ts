import type { Answered, Overdue } from "./evidence.ts";
import { endpointName } from "./verdict.ts";
import type { Group } from "./watched-endpoints.ts";

/** Milliseconds for which a late answer counts. */
const KEPT_MS = 60_000;
/** Late answers that show a lossy path; those of one outage count once. */
const LOSSY = 2;
/** Milliseconds within which late answers are of one outage. */
const OUTAGE_MS = 3_000;

/** Clients that were answered after their SYN was repeated, by cluster: the path to it loses packets. */
export class LateAnswers {
  /** Clusters of endpoints and clients with repeated SYNs, as of the last check. */
  #waiting = new Map<string, string>();
  readonly #times = new Map<string, number[]>();

  /** True if answers of the next check matter. */
  get any(): boolean {
    return this.#waiting.size > 0;
  }

  /** Compares with the last check. */
  observe(picture: {
    readonly overdue: readonly Overdue[];
    readonly answered: readonly Answered[];
    readonly groups: readonly Group[];
    readonly now: number;
    /** Milliseconds since the last check. */
    readonly passed: number;
  }): void {
    const { now, passed } = picture;
    const next = new Map<string, string>();
    for (const one of picture.overdue) {
      const name = endpointName(one);
      const cluster = picture.groups.find(({ members }) => members.has(name))?.cluster;
      if (one.repeats === 0 || cluster === undefined) continue;
      for (const client of one.clients) next.set(`${name} ${client}`, cluster);
    }
    for (const one of picture.answered) {
      const pair = `${endpointName(one)} ${one.client}`;
      const cluster = this.#waiting.get(pair);
      if (cluster !== undefined && !next.has(pair) && one.age <= passed) this.#add(cluster, now);
    }
    this.#waiting = next;
  }

  isLossy(cluster: string, now: number): boolean {
    const times = this.#times.get(cluster) ?? [];
    return times.filter((at) => now - at < KEPT_MS).length >= LOSSY;
  }

  #add(cluster: string, now: number): void {
    const times = (this.#times.get(cluster) ?? []).filter((at) => now - at < KEPT_MS);
    const last = times.at(-1);
    if (last === undefined || now - last >= OUTAGE_MS) times.push(now);
    this.#times.set(cluster, times);
  }
}
