import { collectDefaultMetrics, Registry } from "prom-client";
import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { counters, gauges, histograms } from "../../common/metrics.ts";
import type { Claim } from "../model/condition.ts";
import type { TaskKind } from "../sync/task.ts";
import type { AskedOf } from "./counted-api-server.ts";
import { COUNTERS, GAUGES, HISTOGRAMS, METRIC_PREFIX } from "./metric-table.ts";

/** Whose API server it is. */
export type Server = "own" | "peer" | "registry";
/** Whose objects they are. */
export type Origin = "member" | "own";

/** What runs. */
export interface BuildInfo {
  readonly version: string;
  readonly node: string;
  readonly registry: string;
}

/** What is looked at when somebody asks. */
export interface Levels {
  readonly waiting: number;
  readonly working: number;
  readonly failing: number;
  /** Seconds. */
  readonly oldest: number;
  readonly heldBack: number;
  readonly isLeader: boolean;
  /** By cluster. */
  readonly clusters: ReadonlyMap<string, ClusterLevels>;
}

/** How a cluster is seen. */
export interface ClusterLevels {
  readonly isAlive: boolean;
  readonly isUp: boolean;
  readonly isBelieved: boolean;
  readonly records: number;
}

/** Milliseconds between two looks at the event loop: the default of 10 would wake an idle process for nothing. */
const LOOP_SAMPLE = 100;

/** Everything that the controller counts. */
export class ControllerMetrics {
  readonly #registry = new Registry();
  readonly #histograms = histograms(HISTOGRAMS, METRIC_PREFIX, this.#registry);
  readonly #counters = counters(COUNTERS, METRIC_PREFIX, this.#registry);
  readonly #gauges = gauges(GAUGES, METRIC_PREFIX, this.#registry);
  /** Parts that are refused now, by whose they are and reason. */
  readonly #refused = new Map<string | undefined, Map<Reason, number>>();

  /** Media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Begins to watch the process itself: `process_*` and `nodejs_*`. */
  start(): void {
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: LOOP_SAMPLE,
    });
  }

  /** Everything, as Prometheus reads it. `levels`: as of now. */
  text(levels?: Levels): Promise<string> {
    if (levels !== undefined) this.#look(levels);
    return this.#registry.metrics();
  }

  runs(build: BuildInfo): void {
    this.#gauges.build.set({ ...build }, 1);
  }

  asked(server: Server, { verb, result, seconds }: AskedOf): void {
    this.#counters.requests.inc({ server, verb, result });
    if (verb !== "watch") this.#histograms.requestSeconds.observe({ server }, seconds);
  }

  done(task: TaskKind, seconds: number): void {
    this.#histograms.changeSeconds.observe({ task }, seconds);
  }

  failed(task: TaskKind, reason: Reason): void {
    this.#counters.taskFailures.inc({ task, reason });
  }

  connection(from: Origin, resource: string, reason: Reason): void {
    this.#counters.sourceStates.inc({ from, resource, reason });
  }

  turned(cluster: string, state: string): void {
    this.#counters.clusterTurns.inc({ cluster, state });
  }

  /** Parts of objects that are refused now, by reason: of a cluster's registry, or of our own cluster. */
  refusedOf(cluster: string | undefined): Readonly<Record<string, number>> {
    const counts = [...(this.#refused.get(cluster) ?? [])].filter(([, count]) => count > 0);
    return Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A cluster is a member no more: nothing is said of it. */
  left(cluster: string): void {
    for (const gauge of [
      this.#gauges.clusterAlive,
      this.#gauges.clusterUp,
      this.#gauges.clusterBelieved,
      this.#gauges.records,
    ]) {
      gauge.remove({ cluster });
    }
    this.#refused.delete(cluster);
  }

  /** One object was read anew, of a cluster's registry or of our own cluster: what was wrong with it, and what is. */
  refused(
    cluster: string | undefined,
    previous: readonly Problem[],
    next: readonly Problem[],
  ): void {
    const from: Origin = cluster === undefined ? "own" : "member";
    const counts = this.#refused.get(cluster) ?? new Map<Reason, number>();
    this.#refused.set(cluster, counts);
    const count = (reason: Reason, by: 1 | -1): void => {
      counts.set(reason, (counts.get(reason) ?? 0) + by);
      this.#gauges.refused.inc({ from, reason }, by);
    };
    for (const { reason } of previous) count(reason, -1);
    for (const { reason } of next) count(reason, 1);
    const known = new Set(previous.map(partOf));
    for (const problem of next) {
      if (!known.has(partOf(problem)))
        this.#counters.refusals.inc({ from, reason: problem.reason });
    }
  }

  /** What was made of an import, before and now; undefined: there is none. */
  imported(previous: ImportLevel | undefined, next: ImportLevel | undefined): void {
    for (const [level, by] of [
      [previous, -1],
      [next, 1],
    ] as const) {
      if (level === undefined) continue;
      this.#gauges.imports.inc({ reason: level.reason }, by);
      if (level.lacksVip) this.#gauges.withoutVip.inc(by);
    }
  }

  /** What is claimed of an export, before and now. */
  claimed(previous: readonly Claim[], next: readonly Claim[]): void {
    for (const claim of previous) this.#claim(claim, -1);
    for (const claim of next) this.#claim(claim, 1);
  }

  #claim({ type, status, reason }: Claim, by: 1 | -1): void {
    if (type === "Ready") this.#gauges.exports.inc({ status, reason }, by);
    if (type === "Valid" && status === "False") this.#gauges.invalid.inc({ reason }, by);
    if (type !== "Conflict" || status !== "True") return;
    // Several reasons of one condition are joined by commas.
    for (const one of reason.split(",")) this.#gauges.conflicts.inc({ reason: one }, by);
  }

  #look(levels: Levels): void {
    const { waiting, working, failing, oldest, heldBack, isLeader, clusters } = levels;
    for (const [state, count] of Object.entries({ waiting, working, failing })) {
      this.#gauges.tasks.set({ state }, count);
    }
    this.#gauges.oldestTask.set(oldest);
    this.#gauges.heldBack.set(heldBack);
    this.#gauges.leader.set(Number(isLeader));
    for (const [cluster, { isAlive, isUp, isBelieved, records }] of clusters) {
      this.#gauges.clusterAlive.set({ cluster }, Number(isAlive));
      this.#gauges.clusterUp.set({ cluster }, Number(isUp));
      this.#gauges.clusterBelieved.set({ cluster }, Number(isBelieved));
      this.#gauges.records.set({ cluster }, records);
    }
  }
}

/** What was made of an import. */
export interface ImportLevel {
  readonly reason: Reason;
  /** It should have a VIP and has none. */
  readonly lacksVip: boolean;
}

function partOf({ reason, field, value }: Problem): string {
  return `${reason} ${field} ${value}`;
}
