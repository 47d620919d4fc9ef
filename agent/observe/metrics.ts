import { collectDefaultMetrics, Registry } from "prom-client";
import type { Family } from "../../api/address.ts";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { codeOf } from "../../common/errors.ts";
import { counters, gauges, histograms } from "../../common/metrics.ts";
import type { Drift } from "../backends/backend.ts";
import type { Swept } from "../conntrack/sweeps.ts";
import type { ConntrackFact } from "../preflight/conntrack-table.ts";
import type { Verdict } from "../preflight/verdict.ts";
import { COUNTERS, GAUGES, HISTOGRAMS, METRIC_PREFIX } from "./metric-table.ts";
import { type ImportSummary, portKey } from "./summary.ts";

/** A pass over the kernel that succeeded. */
export interface SyncDone {
  readonly family: Family;
  /** `complete`: everything was read back and compared; `changed`: only what had changed was. */
  readonly scope: "changed" | "complete";
  readonly seconds: number;
  readonly writes: number;
  readonly deletes: number;
  /** For each change that is now live: seconds since it was learned of. */
  readonly latencies: readonly number[];
}

/** What runs. */
export interface BuildInfo {
  readonly version: string;
  readonly node: string;
  readonly backend: string;
}

/** Label value that stands for a port that rejects connections. */
const NO_TIER = "none";
/** Milliseconds between two looks at the event loop: the default of 10 would wake every idle node for nothing. */
const LOOP_SAMPLE = 100;
/** The same between two looks at how busy it is: the default of 100 was a fifth of all that an idle agent did. */
const SHARE_SAMPLE = 10_000;

/** Everything that the agent counts. Its users say what happened; what that adds up to is decided here. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #histograms = histograms(HISTOGRAMS, METRIC_PREFIX, this.#registry);
  readonly #counters = counters(COUNTERS, METRIC_PREFIX, this.#registry);
  readonly #gauges = gauges(GAUGES, METRIC_PREFIX, this.#registry);
  #waiting: () => Iterable<readonly [Family, number]> = () => [];

  /** Media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Begins to watch the process itself: `process_*` and `nodejs_*`. */
  start(): void {
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: LOOP_SAMPLE,
      eventLoopUtilizationTimeout: SHARE_SAMPLE,
    });
  }

  /** Everything, as Prometheus reads it. */
  text(): Promise<string> {
    for (const [family, seconds] of this.#waiting()) this.#gauges.waiting.set({ family }, seconds);
    return this.#registry.metrics();
  }

  /** Says how to ask, at each scrape, how many seconds the oldest change of each family has waited. */
  readWaiting(read: () => Iterable<readonly [Family, number]>): void {
    this.#waiting = read;
  }

  runs(build: BuildInfo): void {
    this.#gauges.build.set({ ...build }, 1);
  }

  changeQueued(): void {
    this.#gauges.lastQueued.setToCurrentTime();
  }

  syncDone({ family, scope, seconds, writes, deletes, latencies }: SyncDone): void {
    this.#histograms.syncSeconds.observe({ family, scope }, seconds);
    for (const latency of latencies) this.#histograms.latencySeconds.observe({ family }, latency);
    this.#counters.written.inc({ family }, writes);
    this.#counters.deleted.inc({ family }, deletes);
    this.#gauges.lastSync.setToCurrentTime({ family });
  }

  syncFailed(family: Family, error: unknown): void {
    this.#counters.syncFailures.inc({ family, code: codeOf(error) ?? "unknown" });
  }

  /** Somebody else changed kernel objects of ours, and each is repaired. */
  drifted(family: Family, drift: readonly Drift[]): void {
    for (const { reason } of drift) this.#counters.driftRepairs.inc({ family, reason });
  }

  /** One more service is set aside for a reason, or (-1) one less. */
  doubted(family: Family, services: number): void {
    this.#gauges.doubted.set({ family }, services);
  }

  setAside(family: Family, reason: Reason, by: 1 | -1): void {
    this.#gauges.setAside.inc({ family, reason }, by);
  }

  /** A trial of the search for what the kernel refuses. */
  tried({ family, accepted }: { readonly family: Family; readonly accepted: boolean }): void {
    this.#counters.trials.inc({ family, outcome: accepted ? "accepted" : "refused" });
  }

  lookFailed(family: Family, error: unknown): void {
    this.#counters.lookFailures.inc({ family, code: codeOf(error) ?? "unknown" });
  }

  restoreRespawned(family: Family): void {
    this.#counters.respawns.inc({ family });
  }

  /** Connection tracking was walked through. */
  swept({ family, seconds, deleted }: Swept): void {
    this.#histograms.sweepSeconds.observe({ family }, seconds);
    for (const { protocol, reason, entries } of deleted) {
      this.#counters.entriesDeleted.inc({ family, protocol, reason }, entries);
    }
  }

  sweepFailed(family: Family, by: Swept["by"], error: unknown): void {
    this.#counters.sweepFailures.inc({ family, by, code: codeOf(error) ?? "unknown" });
  }

  /** An import was planned anew: takes the previous plan out of the gauges, and puts the next one in. */
  planned(previous: ImportSummary | undefined, next: ImportSummary | undefined): void {
    if (previous !== undefined) this.#count(previous, -1);
    if (next !== undefined) this.#count(next, 1);
    const before = new Map(previous?.ports.map((port) => [portKey(port), port]));
    for (const port of next?.ports ?? []) {
      const was = before.get(portKey(port));
      if (was === undefined || was.tier === port.tier) continue;
      this.#counters.tierChanges.inc({ from: was.tier ?? NO_TIER, to: port.tier ?? NO_TIER });
    }
  }

  /** One object was read anew: what was wrong with it, and what is. */
  refused(previous: readonly Problem[], next: readonly Problem[]): void {
    for (const { reason } of previous) this.#gauges.rejected.dec({ reason });
    for (const { reason } of next) this.#gauges.rejected.inc({ reason });
    const known = new Set(previous.map(partOf));
    for (const problem of next) {
      if (!known.has(partOf(problem))) this.#counters.rejections.inc({ reason: problem.reason });
    }
  }

  manifestFilesBroken(count: number): void {
    this.#gauges.brokenFiles.set(count);
  }

  /** The node was looked at. `family` is empty where both share what was looked at. */
  looked(verdicts: readonly Verdict[], conntrack: ConntrackFact | undefined): void {
    this.#gauges.preflight.reset();
    for (const { check, family = "", state } of verdicts) {
      if (state === "unknown") continue;
      this.#gauges.preflight.set({ check, family }, state === "failing" ? 1 : 0);
    }
    if (conntrack === undefined) return;
    this.#gauges.conntrackEntries.set(conntrack.count);
    this.#gauges.conntrackLimit.set(conntrack.limit);
  }

  /** The connection for a resource came into a state. */
  connection(resource: string, reason: Reason): void {
    this.#counters.sourceStates.inc({ resource, reason });
    this.#gauges.sourceWatching.set({ resource }, reason === "watching" ? 1 : 0);
  }

  sourceObjects(sizes: ReadonlyMap<string, number>): void {
    for (const [resource, size] of sizes) this.#gauges.sourceObjects.set({ resource }, size);
  }

  affinityLimit(clients: number): void {
    this.#gauges.affinityLimit.set(clients);
  }

  #count(summary: ImportSummary, by: 1 | -1): void {
    this.#gauges.imports.inc({ reason: summary.reason }, by);
    for (const { tier = NO_TIER, reason, endpoints } of summary.ports) {
      this.#gauges.ports.inc({ tier, reason }, by);
      if (endpoints > 0) this.#gauges.endpoints.inc({ tier }, by * endpoints);
    }
  }
}

function partOf({ reason, field, value }: Problem): string {
  return `${reason} ${field} ${value}`;
}
