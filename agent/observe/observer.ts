import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger, LogLine } from "../../common/log.ts";
import { LimitedLog } from "../../common/log-rate-limit.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import type { ConntrackFact } from "../preflight/conntrack-table.ts";
import { type Finding, findingName } from "../preflight/finding.ts";
import type { AgentEvents } from "../sync/agent.ts";
import type {
  Attempt,
  Drifted,
  Failure,
  QuarantineChange,
  Reconciliation,
  Released,
  Retained,
} from "../sync/reconciler-events.ts";
import { type AgentMetrics, errorLabel } from "./metrics.ts";
import { type ImportSummary, summaryOf } from "./summary.ts";
import { problemTransitions, transitions } from "./transitions.ts";

/** Messages for a port that enters quarantine. */
const QUARANTINED: Readonly<Record<QuarantineChange["reason"], string>> = {
  "affinity-unsupported": "Session affinity is not supported; programmed the port without it",
  "refused-by-kernel": "Quarantined a port that the kernel rejects; its connections are rejected",
  "server-foreign":
    "Quarantined a port because of another program's object; its connections are rejected",
};

/** Called after the observer has processed the event. */
type Hooks = Partial<Record<"listed" | "reconciled", () => void>>;

/** Turns the agent's events into metrics and log lines. It logs changes only; a failure that repeats is logged once. */
export class Observer implements AgentEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  readonly #clock: Pick<Clock, "now">;
  readonly #summaries = new Map<ObjectKey, ImportSummary>();
  readonly #problems = new Map<string, readonly Problem[]>();
  /** The sync failure that was logged last, by family; absent while syncs succeed. */
  readonly #failing = new Map<string, string>();
  /** The failure of a drift check that was logged last, by family; absent while checks succeed. */
  readonly #checkFailing = new Map<string, string>();
  /** Families with conflicting writers. */
  readonly #conflicts = new Set<string>();
  /** Families that have been in sync at least once. */
  readonly #seen = new Set<string>();
  readonly #limited: LimitedLog;
  readonly #also: Hooks;
  #findings: readonly Finding[] = [];

  constructor(log: Logger, metrics: AgentMetrics, clock: Pick<Clock, "now">, also: Hooks = {}) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#limited = new LimitedLog(log, clock);
    this.#also = also;
  }

  listed(): void {
    this.#log.info("Caches synced; programming rules");
    this.#also.listed?.();
  }

  planned(key: ObjectKey, plan: ImportPlan | undefined): void {
    const previous = this.#summaries.get(key);
    const next = plan && summaryOf(plan);
    this.#metrics.gauges.lastQueued.setToCurrentTime();
    this.#metrics.planned(previous, next);
    if (next === undefined) this.#summaries.delete(key);
    else this.#summaries.set(key, next);
    for (const line of transitions(previous, next)) this.#logChange(`import ${key}`, line);
  }

  problems(object: string, problems: readonly Problem[]): void {
    const previous = this.#problems.get(object) ?? [];
    this.#metrics.rejected(previous, problems);
    if (problems.length === 0) this.#problems.delete(object);
    else this.#problems.set(object, problems);
    for (const line of problemTransitions(previous, problems)) this.#limited.write(object, line);
  }

  reconciled({ family, changedAt, ...what }: Reconciliation): void {
    const now = this.#clock.now();
    // Objects of the initial lists are not changes: a start would count as thousands of slow ones.
    const changes = this.#seen.has(family) ? changedAt : [];
    const latencies = changes.map((at) => (now - at) / 1000);
    const { counters, gauges, histograms } = this.#metrics;
    histograms.syncSeconds.observe({ family, scope: what.scope }, what.seconds);
    for (const latency of latencies) histograms.latencySeconds.observe({ family }, latency);
    counters.written.inc({ family }, what.writes);
    counters.deleted.inc({ family }, what.deletes);
    gauges.lastSync.setToCurrentTime({ family });
    const seconds = Number(what.seconds.toFixed(4));
    if (this.#failing.delete(family)) this.#log.info("Rules are in sync again", { family });
    if (!this.#seen.has(family)) {
      this.#seen.add(family);
      const imports = this.#summaries.size;
      this.#log.info("Programmed rules; in sync", { family, imports, ...what, seconds });
    } else if (what.writes + what.deletes > 0) {
      this.#log.debug("Programmed rules", { family, changes: latencies.length, ...what, seconds });
    }
    this.#also.reconciled?.();
  }

  /** Preflight checked the node. */
  preflightRan(findings: readonly Finding[], conntrack: ConntrackFact | undefined): void {
    for (const line of findingTransitions(this.#findings, findings)) this.#log.write(line);
    this.#findings = findings;
    this.#metrics.preflightRan(findings, conntrack);
  }

  failed({ family, error, failures, retryIn }: Failure): void {
    this.#metrics.counters.syncFailures.inc({ family, code: errorLabel(error) });
    const words = codeOf(error) ?? String(error);
    const known = this.#failing.get(family) === words;
    this.#failing.set(family, words);
    const fields = { family, error, failures, retryIn: Math.round(retryIn) };
    if (known) this.#log.debug("Sync still fails", fields);
    else this.#log.warn("Sync failed; keeping existing rules", fields);
  }

  drifted({ family, drift, repairIn }: Drifted): void {
    for (const { reason } of drift) this.#metrics.counters.driftRepairs.inc({ family, reason });
    const [first] = drift;
    if (first === undefined) return;
    const { reason, what, suspect } = first;
    const fields = { family, reason, what, more: drift.length - 1, ...(suspect && { suspect }) };
    if (repairIn === 0) {
      this.#conflicts.delete(family);
      this.#log.warn("Detected external changes to managed rules; repairing", fields);
    } else if (!this.#conflicts.has(family)) {
      this.#conflicts.add(family);
      const message = "Conflicting writers: managed rules change repeatedly; repairing less often";
      this.#log.warn(message, { ...fields, repairIn: Math.round(repairIn) });
    }
  }

  tried({ family, accepted }: Attempt): void {
    const outcome = accepted ? "accepted" : "refused";
    this.#metrics.counters.attempts.inc({ family, outcome });
  }

  quarantined({ family, error, importKey, ...service }: QuarantineChange): void {
    this.#metrics.gauges.quarantined.inc({ family, reason: service.reason });
    this.#log.warn(QUARANTINED[service.reason], { family, import: importKey, ...service, error });
  }

  unquarantined({ family, error: _error, importKey, ...service }: QuarantineChange): void {
    this.#metrics.gauges.quarantined.dec({ family, reason: service.reason });
    this.#log.info("Port is no longer quarantined", { family, import: importKey, ...service });
  }

  retained({ family, services, of, forMs }: Retained): void {
    this.#metrics.gauges.retained.set({ family }, services);
    const message =
      forMs === undefined
        ? "Flags do not allow the VIPs of most programmed services; keeping their rules"
        : "Initial list is missing most programmed services; keeping their rules";
    this.#log.warn(message, { family, reason: "mass-loss", services, of, forMs });
  }

  released({ family, services }: Released): void {
    this.#metrics.gauges.retained.set({ family }, 0);
    const fields = { family, reason: "mass-loss", services };
    if (services === 0) this.#log.info("Retained services are listed again", fields);
    else this.#log.warn("Deleting the rules of services that are not listed", fields);
  }

  checkFailed({ family, error, retryIn }: Omit<Failure, "failures">): void {
    this.#metrics.counters.checkFailures.inc({ family, code: errorLabel(error) });
    const words = codeOf(error) ?? String(error);
    const fields = { family, error, retryIn: Math.round(retryIn) };
    if (this.#checkFailing.get(family) === words)
      this.#log.debug("Drift check still fails", fields);
    else this.#log.warn("Drift check failed", fields);
    this.#checkFailing.set(family, words);
  }

  checked(family: Family): void {
    if (this.#checkFailing.delete(family)) this.#log.info("Drift checks succeed again", { family });
  }

  /** Until the first sync, objects are not news. */
  #logChange(object: string, line: LogLine): void {
    const known = this.#seen.size === 0 && line.level === "info";
    this.#limited.write(object, known ? { ...line, level: "debug" } : line);
  }
}

/** A log line for each finding whose state or reason changed between two checks; its advice may change every time. PURE. */
export function findingTransitions(
  previous: readonly Finding[],
  next: readonly Finding[],
): LogLine[] {
  const before = new Map(previous.map((finding) => [findingName(finding), finding]));
  return next.flatMap((finding) => {
    const was = before.get(findingName(finding));
    if (was?.state === finding.state && was.reason === finding.reason) return [];
    return lineOf(was, finding);
  });
}

function lineOf(was: Finding | undefined, { state, ...finding }: Finding): LogLine[] {
  if (state === "failing") {
    return [{ level: "warn", message: "Preflight check failed", fields: finding }];
  }
  const { check, family } = finding;
  const about = { check, ...(family !== undefined && { family }) };
  if (was?.state === "failing") {
    const fields = { ...about, was: was.reason };
    if (state === "ok") return [{ level: "info", message: "Preflight check passes again", fields }];
    return [{ level: "info", message: "Preflight check result became unknown", fields }];
  }
  if (state === "ok") return [];
  // A check that did not run is not news.
  const level = finding.reason === "not-tested" ? "debug" : "info";
  return [{ level, message: "Preflight check result is unknown", fields: finding }];
}
