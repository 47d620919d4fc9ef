import type { ObjectKey } from "../../api/names.ts";
import { type Problem, shown } from "../../api/problem.ts";
import type { OmittedSlice } from "../import/imported-slices.ts";
import type { Observer } from "../observe/observer.ts";

/** Problems reported of one cluster's share of a name. */
const MOST_REPORTED = 100;

/** Reports what is left out of each cluster's share of a name, and when nothing is left out any more. */
export class OmissionReport {
  readonly #events: Pick<Observer, "problems">;
  /** Clusters with problems, by name. */
  readonly #faulted = new Map<ObjectKey, ReadonlySet<string>>();

  constructor(events: Pick<Observer, "problems">) {
    this.#events = events;
  }

  /** Reports everything that is left out of a name now: problems by cluster, and slices. */
  report(
    key: ObjectKey,
    shares: ReadonlyMap<string, readonly Problem[]> = new Map(),
    slices: readonly OmittedSlice[] = [],
  ): void {
    const omitted = Map.groupBy(slices, ({ cluster }) => cluster);
    const before = this.#faulted.get(key) ?? [];
    const now = new Set([...shares.keys(), ...omitted.keys()]);
    if (now.size > 0) this.#faulted.set(key, now);
    else this.#faulted.delete(key);
    for (const cluster of new Set([...before, ...now])) {
      const listed = (omitted.get(cluster) ?? []).slice(0, MOST_REPORTED).map(problemOf);
      const problems = [...(shares.get(cluster) ?? []), ...listed];
      this.#events.problems(cluster, `all that it exports as ${key}`, problems);
    }
  }
}

function problemOf({ slice, reason, has }: OmittedSlice): Problem {
  const field = reason === "family-not-merged" ? "addressType" : "ports";
  return { reason, object: `EndpointSlice ${slice}`, field, value: shown(has) };
}
