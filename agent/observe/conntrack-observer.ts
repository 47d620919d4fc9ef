import type { Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import type { SweepEvents, SweepFailure, Swept } from "../conntrack/sweeps.ts";
import type { AgentMetrics } from "./metrics.ts";

/** Tells what became of connection tracking: every deletion as a number, every change of fortune as a line. */
export class ConntrackObserver implements SweepEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  /** Words of the failure that was told last, by family and way; absent while that way works. */
  readonly #failing = new Map<string, string>();
  /** Families whose table cannot be reached in any way. */
  readonly #lost = new Set<Family>();

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  swept(what: Swept): void {
    this.#metrics.swept(what);
    const { family, by, deleted } = what;
    const recovered = this.#failing.delete(`${family} ${by}`);
    if (this.#lost.delete(family) || recovered) {
      this.#log.info("Connection tracking is cleaned again.", { family, by });
    }
    for (const { protocol, reason, entries } of deleted) {
      if (entries === 0) continue;
      this.#log.debug("Deleted entries of connection tracking.", {
        ...{ family, protocol, reason, entries },
      });
    }
  }

  sweepFailed({ family, by, error, last }: SweepFailure): void {
    this.#metrics.sweepFailed(family, by, error);
    const way = `${family} ${by}`;
    const words = codeOf(error) ?? String(error);
    const known = this.#failing.get(way) === words;
    this.#failing.set(way, words);
    const lost = last && !this.#lost.has(family);
    if (last) this.#lost.add(family);
    const fields = { family, by, error };
    if (known && !lost) this.#log.debug("Connection tracking still cannot be reached.", fields);
    else if (last) this.#log.warn("Connection tracking is not cleaned; rules are.", fields);
    else this.#log.warn("Connection tracking cannot be reached; another way is tried.", fields);
  }
}
