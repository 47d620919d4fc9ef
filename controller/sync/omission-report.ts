import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";

/** What is left out of each cluster's part in one name. */
export type Omissions = ReadonlyMap<string, readonly Problem[]>;

/** Tells what is left out of clusters' parts in names, and of whose part nothing is left out any more. */
export class OmissionReport {
  readonly #tell: (cluster: string, object: string, problems: readonly Problem[]) => void;
  /** Clusters of whose part in a name something is left out, by name. */
  readonly #faulted = new Map<ObjectKey, ReadonlySet<string>>();

  constructor(tell: (cluster: string, object: string, problems: readonly Problem[]) => void) {
    this.#tell = tell;
  }

  /** All that is left out of a name now. */
  report(key: ObjectKey, ...all: readonly Omissions[]): void {
    const before = this.#faulted.get(key) ?? [];
    const now = new Set(all.flatMap((omissions) => [...omissions.keys()]));
    if (now.size > 0) this.#faulted.set(key, now);
    else this.#faulted.delete(key);
    for (const cluster of new Set([...before, ...now])) {
      const problems = all.flatMap((omissions) => omissions.get(cluster) ?? []);
      this.#tell(cluster, `all that it exports as ${key}`, problems);
    }
  }
}
