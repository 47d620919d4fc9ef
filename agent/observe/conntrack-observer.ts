import type { Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import type {
  CleanupEvents,
  CleanupFailure,
  CleanupResult,
} from "../conntrack/cleanup-schedule.ts";
import { type AgentMetrics, errorLabel } from "./metrics.ts";

/** Turns results of conntrack cleanups into metrics, and into log lines when an access method fails or recovers. */
export class ConntrackObserver implements CleanupEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  /** The failure that was logged last, by family and access method; absent while that method works. */
  readonly #failing = new Map<string, string>();
  /** Families whose conntrack table no access method can reach. */
  readonly #lost = new Set<Family>();

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  cleanedUp({ family, by, seconds, deleted }: CleanupResult): void {
    const { counters, histograms } = this.#metrics;
    histograms.sweepSeconds.observe({ family }, seconds);
    const recovered = this.#failing.delete(`${family} ${by}`);
    if (this.#lost.delete(family) || recovered) {
      this.#log.info("Conntrack cleanup recovered", { family, by });
    }
    for (const { protocol, reason, entries } of deleted) {
      counters.entriesDeleted.inc({ family, protocol, reason }, entries);
      if (entries === 0) continue;
      this.#log.debug("Deleted conntrack entries", { family, protocol, reason, entries });
    }
  }

  cleanupFailed({ family, by, error, last }: CleanupFailure): void {
    this.#metrics.counters.sweepFailures.inc({ family, by, code: errorLabel(error) });
    const method = `${family} ${by}`;
    const text = codeOf(error) ?? String(error);
    const known = this.#failing.get(method) === text;
    this.#failing.set(method, text);
    const lost = last && !this.#lost.has(family);
    if (last) this.#lost.add(family);
    const fields = { family, by, error };
    if (known && !lost) this.#log.debug("Conntrack cleanup still fails", fields);
    else if (last) this.#log.warn("Conntrack cleanup failed; rules are still programmed", fields);
    else this.#log.warn("Conntrack cleanup failed; trying another access method", fields);
  }
}
