import type { Problem } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { ProgramMetrics } from "../../common/metrics.ts";
import type { Nearest } from "../import/nearest.ts";
import type { Claim } from "../model/condition.ts";
import type { TaskKind } from "../model/task.ts";
import type { TaintDecision } from "../startup-taint/startup-taint.ts";
import type { AskedOf } from "./counted-api-server.ts";
import type { DebugView } from "./debug-view.ts";
import { COUNTERS, GAUGES, HISTOGRAMS, METRIC_PREFIX } from "./metric-table.ts";

/** The local API server, a peer's, or a separate one with the registry. */
export type Server = "own" | "peer" | "registry";
/** Objects of a registry, or of the local cluster. */
export type Origin = "member" | "own";

/** The controller's metrics, as `metric-table.ts` defines them. */
export class ControllerMetrics extends ProgramMetrics<
  typeof HISTOGRAMS,
  typeof COUNTERS,
  typeof GAUGES
> {
  /** Rejected parts, by cluster and reason. */
  readonly #refused = new Map<string | undefined, Map<Reason, number>>();

  constructor() {
    super(METRIC_PREFIX, HISTOGRAMS, COUNTERS, GAUGES);
  }

  /** Sets the gauges of the present state. `oldest`: age of the oldest task in seconds. */
  set({ queue, heldBack, leader, clusters }: DebugView, oldest: number): void {
    for (const [state, count] of Object.entries(queue)) this.gauges.tasks.set({ state }, count);
    this.gauges.oldestTask.set(oldest);
    this.gauges.heldBack.set(heldBack);
    this.gauges.leader.set(Number(leader));
    for (const { cluster: member, state, connections, drains = [], records, exports } of clusters) {
      const drain = drains.find(({ phase }) => phase === "in-force");
      const end = drain === undefined ? 0 : Date.parse(drain.until) / 1000;
      this.gauges.clusterDrained.set({ member }, Number(drain !== undefined));
      this.gauges.drainEnd.set({ member }, end);
      const isUp = Object.values(connections).every((one) => one === "watching");
      this.gauges.clusterAlive.set({ member }, Number(state === "alive"));
      this.gauges.clusterUp.set({ member }, Number(isUp));
      this.gauges.clusterTrusted.set({ member }, Number(records === "use"));
      this.gauges.records.set({ member }, exports);
    }
  }

  asked(server: Server, { verb, result, seconds }: AskedOf): void {
    this.counters.requests.inc({ server, verb, result });
    if (verb !== "watch") this.histograms.requestSeconds.observe({ server }, seconds);
  }

  done(task: TaskKind, seconds: number): void {
    this.histograms.changeSeconds.observe({ task }, seconds);
  }

  failed(task: TaskKind, reason: Reason): void {
    this.counters.taskFailures.inc({ task, reason });
  }

  connection(from: Origin, resource: string, reason: Reason): void {
    // Without an earlier 0, Prometheus' increase() does not see the first.
    this.counters.sourceStates.inc({ from, resource, reason: "doubtful" }, 0);
    this.counters.sourceStates.inc({ from, resource, reason });
  }

  eventLost(reason: Reason): void {
    this.counters.eventsLost.inc({ reason });
  }

  turned(member: string, state: string): void {
    this.counters.clusterTurns.inc({ member, state });
  }

  /** Rejected parts by reason, of a registry or of the local cluster. */
  refusedOf(cluster: string | undefined): Readonly<Record<string, number>> {
    const counts = [...(this.#refused.get(cluster) ?? [])].filter(([, count]) => count > 0);
    return Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Removes the gauges of a cluster that is no longer a member. */
  left(member: string): void {
    for (const gauge of [
      this.gauges.clusterAlive,
      this.gauges.clusterDrained,
      this.gauges.drainEnd,
      this.gauges.clusterUp,
      this.gauges.clusterTrusted,
      this.gauges.records,
    ]) {
      gauge.remove({ member });
    }
    this.#refused.delete(member);
  }

  /** The problems of one object have changed. */
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
      const { omitted, refused } = this.gauges;
      (isOmitted(from, reason) ? omitted : refused).inc({ from, reason }, by);
    };
    for (const { reason } of previous) count(reason, -1);
    for (const { reason } of next) count(reason, 1);
    const known = new Set(previous.map(partOf));
    for (const problem of next) {
      if (!known.has(partOf(problem))) this.counters.refusals.inc({ from, reason: problem.reason });
    }
  }

  /** The result of an import has changed; undefined: there is no import. */
  imported(previous: ImportLevel | undefined, next: ImportLevel | undefined): void {
    for (const [level, by] of [
      [previous, -1],
      [next, 1],
    ] as const) {
      if (level === undefined) continue;
      this.gauges.imports.inc({ reason: level.reason }, by);
      if (level.lacksVip) this.gauges.withoutVip.inc(by);
      if (level.nearest === undefined) continue;
      const { place, exportedHere } = level.nearest;
      this.gauges.nearest.inc({ nearest: place, exported_here: String(exportedHere) }, by);
    }
  }

  /** What was decided for a node that has the startup taint, or is to have it; undefined: it is not counted. */
  tainted(previous: TaintDecision | undefined, next: TaintDecision | undefined): void {
    const { taintedNodes } = this.gauges;
    if (previous !== undefined) taintedNodes.dec({ reason: previous.reason });
    if (next !== undefined) taintedNodes.inc({ reason: next.reason });
  }

  /** The conditions of an export have changed. */
  claimed(previous: readonly Claim[], next: readonly Claim[]): void {
    for (const claim of previous) this.#claim(claim, -1);
    for (const claim of next) this.#claim(claim, 1);
  }

  #claim({ type, status, reason }: Claim, by: 1 | -1): void {
    if (type === "Ready") this.gauges.exports.inc({ status, reason }, by);
    if (type === "Valid" && status === "False") this.gauges.invalid.inc({ reason }, by);
    if (type !== "Conflict" || status !== "True") return;
    // One condition may have several reasons.
    for (const one of reason.split(",")) this.gauges.conflicts.inc({ reason: one }, by);
  }
}

/** The result of an import. */
export interface ImportLevel {
  readonly reason: Reason;
  /** It needs a VIP and has none. */
  readonly lacksVip: boolean;
  /** Where its nearest ready endpoints are; absent if no cluster exports it. */
  readonly nearest?: Nearest;
}

function partOf({ reason, field, value }: Problem): string {
  return `${reason} ${field} ${value}`;
}

/** Reasons that stay as long as the operator's decision: they are no fault, and have a gauge of their own. */
const POLICIES: ReadonlySet<Reason> = new Set([
  "key-not-allowed",
  "namespace-not-allowed",
  "policy-not-accepted",
]);

/** In a Service of this cluster, slices of others are another product's; in a registry, they are forged. */
function isOmitted(from: Origin, reason: Reason): boolean {
  return POLICIES.has(reason) || (from === "own" && reason === "foreign-cluster");
}
