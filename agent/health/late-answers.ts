import type { Answered, Overdue } from "./evidence.ts";
import { endpointName } from "./verdict.ts";
import type { Group } from "./watched-endpoints.ts";

/** Milliseconds for which a late answer counts. */
const KEPT_MS = 60_000;
/** Late answers that show a lossy path; those of one outage count once. */
const LOSSY = 2;
/** Milliseconds within which late answers are of one outage. */
const OUTAGE_MS = 3_000;

/** A client that waits for an endpoint's answer to a repeated SYN. */
interface Waiting {
  readonly paths: ReadonlySet<string>;
  /** When it was last seen to wait. */
  readonly at: number;
}

/** Clients that were answered after their SYN was repeated: the path to a cluster loses packets. By namespace and cluster, because a tenant may repeat SYNs as it likes. */
export class LateAnswers {
  /** By endpoint and client. They are kept for a while: a verdict deletes their SYNs, and the answer may arrive all the same. */
  #waiting = new Map<string, Waiting>();
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
    const next = new Map<string, Waiting>();
    for (const one of picture.overdue) {
      const name = endpointName(one);
      if (one.repeats === 0) continue;
      const listing = picture.groups.filter(({ members }) => members.has(name));
      const paths = new Set(listing.map(pathOf));
      for (const client of one.clients) next.set(`${name} ${client}`, { paths, at: now });
    }
    for (const one of picture.answered) {
      const pair = `${endpointName(one)} ${one.client}`;
      if (next.has(pair) || one.age > passed) continue;
      for (const path of this.#waiting.get(pair)?.paths ?? []) this.#add(path, now);
      this.#waiting.delete(pair);
    }
    for (const [pair, one] of this.#waiting)
      if (now - one.at < OUTAGE_MS && !next.has(pair)) next.set(pair, one);
    for (const [path, times] of this.#times)
      if (times.every((at) => now - at >= KEPT_MS)) this.#times.delete(path);
    this.#waiting = next;
  }

  isLossy(group: Group, now: number): boolean {
    const times = this.#times.get(pathOf(group)) ?? [];
    return times.filter((at) => now - at < KEPT_MS).length >= LOSSY;
  }

  #add(path: string, now: number): void {
    const times = (this.#times.get(path) ?? []).filter((at) => now - at < KEPT_MS);
    const last = times.at(-1);
    if (last === undefined || now - last >= OUTAGE_MS) times.push(now);
    this.#times.set(path, times);
  }
}

function pathOf({ namespace, cluster }: Group): string {
  return `${namespace} ${cluster}`;
}
