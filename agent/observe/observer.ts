import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger, LogLine } from "../../common/log.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import type { ConntrackFact } from "../preflight/conntrack-table.ts";
import type { Verdict } from "../preflight/verdict.ts";
import type { AgentEvents } from "../sync/agent.ts";
import type {
  Drifted,
  Failure,
  LossBelieved,
  LossDoubted,
  Reconciliation,
  SetAsideChange,
  Trial,
} from "../sync/reconciler-events.ts";
import { LineShares } from "./line-shares.ts";
import type { AgentMetrics } from "./metrics.ts";
import { type ImportSummary, summaryOf } from "./summary.ts";
import { problemTransitions, transitions } from "./transitions.ts";
import { verdictTransitions } from "./verdict-transitions.ts";

/** What is said of a port that is set aside. */
const ASIDE: Readonly<Record<SetAsideChange["reason"], string>> = {
  "affinity-unsupported": "Session affinity is refused; the port is served without.",
  "refused-by-kernel": "A port is refused and set aside; connections to it are rejected.",
  "server-foreign":
    "Something of another program is in the place of a port, which is set aside; connections to it are rejected.",
};

/**
 * Turns what the agent says into log lines and metrics. It logs what became different, not what was done:
 * an agent that has nothing new to tell is silent, and one that fails again and again says so once.
 */
export class Observer implements AgentEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  readonly #clock: Pick<Clock, "now">;
  readonly #summaries = new Map<ObjectKey, ImportSummary>();
  readonly #problems = new Map<string, readonly Problem[]>();
  /** Words of the failure that was told last, by family; absent while all is well. */
  readonly #failing = new Map<string, string>();
  /** Words of the look that failed last, by family; absent while looks succeed. */
  readonly #blind = new Map<string, string>();
  /** Families whose rules somebody changes again and again. */
  readonly #fights = new Set<string>();
  /** Families that have been in step at least once. */
  readonly #seen = new Set<string>();
  readonly #shares: LineShares;
  #verdicts: readonly Verdict[] = [];

  constructor(log: Logger, metrics: AgentMetrics, clock: Pick<Clock, "now">) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#shares = new LineShares(clock);
  }

  listed(): void {
    this.#log.info("All sources have listed; the kernel is written to from now on.");
  }

  planned(key: ObjectKey, plan: ImportPlan | undefined): void {
    const previous = this.#summaries.get(key);
    const next = plan && summaryOf(plan);
    this.#metrics.changeQueued();
    this.#metrics.planned(previous, next);
    if (next === undefined) this.#summaries.delete(key);
    else this.#summaries.set(key, next);
    for (const line of transitions(previous, next)) this.#tell(`import ${key}`, line);
  }

  problems(object: string, problems: readonly Problem[]): void {
    const previous = this.#problems.get(object) ?? [];
    this.#metrics.refused(previous, problems);
    if (problems.length === 0) this.#problems.delete(object);
    else this.#problems.set(object, problems);
    for (const line of problemTransitions(previous, problems)) this.#tellOf(object, line);
  }

  reconciled({ family, changedAt, whole, ...what }: Reconciliation): void {
    const now = this.#clock.now();
    // What was there when the agent started has not changed: a start over thousands of imports would read as
    // thousands of slow changes.
    const changes = this.#seen.has(family) ? changedAt : [];
    const latencies = changes.map((at) => (now - at) / 1000);
    this.#metrics.syncDone({ family, latencies, ...what });
    if (!whole) return;
    const seconds = Number(what.seconds.toFixed(4));
    if (this.#failing.delete(family)) this.#log.info("The kernel is in step again.", { family });
    if (!this.#seen.has(family)) {
      this.#seen.add(family);
      const imports = this.#summaries.size;
      this.#log.info("The kernel is as planned.", { family, imports, ...what, seconds });
    } else if (what.writes + what.deletes > 0) {
      this.#log.debug("The kernel follows.", {
        family,
        changes: latencies.length,
        ...what,
        seconds,
      });
    }
  }

  /** The node was looked at. */
  looked(verdicts: readonly Verdict[], conntrack: ConntrackFact | undefined): void {
    for (const line of verdictTransitions(this.#verdicts, verdicts)) this.#log.write(line);
    this.#verdicts = verdicts;
    this.#metrics.looked(verdicts, conntrack);
  }

  failed({ family, error, failures, retryIn }: Failure): void {
    this.#metrics.syncFailed(family, error);
    const words = codeOf(error) ?? String(error);
    const known = this.#failing.get(family) === words;
    this.#failing.set(family, words);
    const fields = { family, error, failures, retryIn: Math.round(retryIn) };
    if (known) this.#log.debug("The kernel is still out of step.", fields);
    else this.#log.warn("The kernel is out of step; what it has is kept.", fields);
  }

  drifted({ family, drift, repairIn }: Drifted): void {
    this.#metrics.drifted(family, drift);
    this.#blind.delete(family);
    const [first] = drift;
    if (first === undefined) return;
    const { reason, what, suspect } = first;
    const fields = { family, reason, what, more: drift.length - 1, ...(suspect && { suspect }) };
    if (repairIn === 0) {
      this.#fights.delete(family);
      this.#log.warn("Somebody has changed our rules; they are repaired.", fields);
    } else if (!this.#fights.has(family)) {
      this.#fights.add(family);
      const message = "Somebody changes our rules again and again; they are repaired less often.";
      this.#log.warn(message, { ...fields, repairIn: Math.round(repairIn) });
    }
  }

  tried(trial: Trial): void {
    this.#metrics.tried(trial);
  }

  setAside({ family, error, importKey, ...service }: SetAsideChange): void {
    this.#metrics.setAside(family, service.reason, 1);
    this.#log.warn(ASIDE[service.reason], { family, import: importKey, ...service, error });
  }

  restored({ family, importKey, ...service }: SetAsideChange): void {
    this.#metrics.setAside(family, service.reason, -1);
    this.#log.info("A port is not set aside any more.", { family, import: importKey, ...service });
  }

  lossDoubted({ family, services, of, believedIn }: LossDoubted): void {
    this.#metrics.doubted(family, services);
    const message = "Nothing tells of most services that the kernel has; their rules stay for now.";
    this.#log.warn(message, { family, reason: "mass-loss", services, of, believedIn });
  }

  lossBelieved({ family, services }: LossBelieved): void {
    this.#metrics.doubted(family, 0);
    const fields = { family, reason: "mass-loss", services };
    if (services === 0) this.#log.info("Services that nothing told of are told of again.", fields);
    else this.#log.warn("Services that nothing tells of are believed to be gone.", fields);
  }

  lookFailed({ family, error, retryIn }: Omit<Failure, "failures">): void {
    this.#metrics.lookFailed(family, error);
    const words = codeOf(error) ?? String(error);
    const fields = { family, error, retryIn: Math.round(retryIn) };
    if (this.#blind.get(family) === words)
      this.#log.debug("Rules still cannot be checked.", fields);
    else this.#log.warn("Whether our rules still stand cannot be checked.", fields);
    this.#blind.set(family, words);
  }

  /** Until the kernel is in step for the first time, what is read is not news but what was there before. */
  #tell(object: string, line: LogLine): void {
    const known = this.#seen.size === 0 && line.level === "info";
    this.#tellOf(object, known ? { ...line, level: "debug" } : line);
  }

  #tellOf(object: string, line: LogLine): void {
    if (!this.#log.enabled(line.level)) return;
    const { write, leftOut } = this.#shares.ration(object);
    if (write) {
      this.#log.write(leftOut === 0 ? line : { ...line, fields: { ...line.fields, leftOut } });
    } else if (leftOut === 1) {
      this.#log.warn("Lines about an object come too fast; some are left out.", { object });
    }
  }
}
