import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { problemText } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Clock, systemClock } from "../../common/clock.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { LeaderState } from "../../common/lease/leader-elector.ts";
import type { LogFields, Logger, LogLevel } from "../../common/log.ts";
import { LimitedLog } from "../../common/log-rate-limit.ts";
import type { RangeOverlap } from "../allocate/overlaps.ts";
import type { FailoverResult } from "../failover/failover-of.ts";
import type { LeaseStep } from "../identity/lease-step.ts";
import type { OwnIdentity } from "../identity/own-identity.ts";
import type { PeerVerdict } from "../identity/peer-verdict.ts";
import type { ImportWanted } from "../import/import-of.ts";
import type { Nearest } from "../import/nearest.ts";
import type { LossReason } from "../liveness/control-plane-contact.ts";
import type { MassUnreadiness } from "../liveness/mass-unreadiness.ts";
import type { LeaseStatus } from "../members/lease-expiry.ts";
import type { Claim } from "../model/condition.ts";
import type { PlacedDrain } from "../model/drain.ts";
import type { TaskKind } from "../model/task.ts";
import type { TaintDecision } from "../startup-taint/startup-taint.ts";
import { Connections, hintFor } from "./connections.ts";
import type { ControllerMetrics, ImportLevel } from "./metrics.ts";

/** True for failures that are logged: the first, and each time that their number has doubled. */
const isLogged = (failures: number): boolean => (failures & (failures - 1)) === 0;
/** Conflicts in a row after which they are logged as failures. */
const MOST_RETRIES = 4;
/** Milliseconds between two lines about one cluster, or one kind of task, after a hundred at once. */
const REFILL_MS = 60_000;
/** Subject of lines about the local cluster's objects. */
const OWN = "this cluster";
/** Subject of lines about the election. */
const ELECTION = "leader election";
/** Problems of one object that are logged one by one. */
const MOST_LINES = 5;

/**
 * Logs and counts what the controller sees, decides and does. The log has changes of state, not every reconcile. No
 * method throws. `cluster`: whose registry; undefined: the local cluster.
 */
export class Observer {
  readonly #log: Logger;
  /** For lines that other clusters or users can cause, by cluster or kind of task. */
  readonly #limited: LimitedLog;
  /** For lines about one import. */
  readonly #limitedImports: LimitedLog;
  readonly #metrics: ControllerMetrics;
  readonly #problems = new Map<string, readonly Problem[]>();
  readonly #connections: Connections;
  readonly #imports = new Map<ObjectKey, ImportLevel>();
  readonly #failovers = new Map<ObjectKey, FailoverResult>();
  readonly #claims = new Map<ObjectKey, readonly Claim[]>();
  /** The last logged failure of the election; undefined while its Lease can be reached. */
  #electionFault: FaultReason | undefined;

  constructor(log: Logger, metrics: ControllerMetrics, clock: Pick<Clock, "now"> = systemClock) {
    this.#log = log;
    this.#limited = new LimitedLog(log, clock, REFILL_MS);
    this.#limitedImports = new LimitedLog(log, clock);
    this.#metrics = metrics;
    this.#connections = new Connections(this.#limited, metrics);
  }

  connection(cluster: string | undefined, resource: string, state: ReflectorState): void {
    this.#connections.observe(cluster, resource, state);
  }

  /** All problems of one object. */
  problems(cluster: string | undefined, object: string, problems: readonly Problem[]): void {
    const key = `${cluster ?? ""} ${object}`;
    const before = this.#problems.get(key) ?? [];
    if (before.length === 0 && problems.length === 0) return;
    this.#metrics.refused(cluster, rejectedOf(before), rejectedOf(problems));
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, problems);
    const known = new Set(before.map(problemText));
    const fresh = problems.filter((problem) => !known.has(problemText(problem)));
    const about = cluster === undefined ? {} : { cluster };
    const write = (level: LogLevel, message: string, fields: LogFields): void =>
      this.#write(cluster ?? OWN, level, message, { ...about, ...fields });
    for (const problem of fresh.slice(0, MOST_LINES)) {
      const message = isUsed(problem) ? "Every address is allowed as an endpoint" : "Rejected";
      write("warn", message, { ...problem });
    }
    if (fresh.length > MOST_LINES) {
      const more = fresh.length - MOST_LINES;
      write("warn", "Rejected; more problems of the same object", { object, more });
    }
    if (rejectedOf(problems).length === 0 && rejectedOf(before).length > 0) {
      write("info", "No longer rejected", { object });
    }
  }

  /** The local cluster's identity is known, or why not. */
  identified(own: OwnIdentity): void {
    if (own.reason === "identified") this.#log.info("Cluster identity known", { ...own.identity });
    else {
      const { reason, detail } = own;
      this.#log.error("Cluster identity unknown; writing nothing", { reason, detail });
    }
  }

  leader({ reason, holder }: LeaderState): void {
    this.#log.info("Leader election state changed", { reason, holder });
  }

  /** The election Lease could not be read or written; it is retried. */
  electionFailed(fault: ApiFault): void {
    const { reason } = fault;
    const isQuiet = isUsual(reason) || reason === this.#electionFault;
    if (!isUsual(reason)) this.#electionFault = reason;
    const message = "Cannot reach the election Lease; without it, no replica writes";
    const fields = { reason, ...hintFor(reason), error: fault };
    this.#write(ELECTION, isQuiet ? "debug" : "warn", message, fields);
  }

  /** The election Lease was read or written. */
  electionReached(): void {
    const was = this.#electionFault;
    this.#electionFault = undefined;
    if (was !== undefined)
      this.#write(ELECTION, "info", "Reached the election Lease again", { was });
  }

  /** The action on the registry's Lease has changed. */
  registering({ reason, other }: LeaseStep): void {
    const fields = { reason, ...(other !== undefined && { other }) };
    if (reason === "duplicate-cluster-id") {
      this.#log.error("Another cluster publishes under our cluster ID", fields);
    } else this.#log.info("Checked the Lease of our registry", fields);
  }

  /** The registry's Lease could not be written; it is retried. `failures`: in a row. */
  registeringFailed(namespace: string, thrown: unknown, failures: number): void {
    const reason = reasonOf(thrown);
    const fields = { namespace, reason, failures, ...hintFor(reason), error: thrown };
    if (isUsual(reason) && failures < MOST_RETRIES)
      this.#log.debug("Retrying the Lease of our registry", fields);
    else if (isLogged(failures)) {
      this.#log.warn("Failed to write the Lease of our registry; retrying", fields);
    }
  }

  /** This replica may write from now on, or not, because of what it lacks. */
  working(isWorking: boolean, lacks: Reason | undefined): void {
    if (isWorking) this.#log.info("Caches synced; this replica reconciles");
    else this.#log.info("This replica writes nothing", { reason: lacks });
  }

  /** Whether a cluster's records are used has changed. */
  evaluated(cluster: string, { reason, records, detail }: PeerVerdict): void {
    const fields = { cluster, reason, ...(detail !== undefined && { detail }) };
    if (reason === "member" || reason === "not-introduced") {
      this.#write(cluster, "info", "Evaluated cluster", fields);
    } else this.#write(cluster, "error", "Cluster failed identity checks", { ...fields, records });
  }

  /** A cluster became stale or alive. */
  turned(cluster: string, { state, reason }: LeaseStatus): void {
    this.#metrics.turned(cluster, state);
    const fields = { cluster, reason };
    if (state === "stale") this.#write(cluster, "warn", "Cluster is stale", fields);
    else this.#write(cluster, "info", "Cluster is alive again", fields);
  }

  /** The drain in force of a cluster has changed; undefined: none. */
  drained(cluster: string, drain: PlacedDrain | undefined): void {
    if (drain === undefined) {
      this.#write(cluster, "info", "Cluster is no longer drained", { cluster });
      return;
    }
    const { by, reason: why, until, where } = drain;
    const reason: Reason = "drained";
    this.#write(cluster, "info", "Cluster is drained", {
      ...{ cluster, reason, until: new Date(until).toISOString(), object: where },
      ...(by !== undefined && { by }),
      ...(why !== undefined && { why }),
    });
  }

  /** The holder of a cluster's Lease has changed. */
  replaced(cluster: string, uid: string, before: string): void {
    const fields = { cluster, uid, before };
    this.#write(cluster, "warn", "Lease holder of a cluster changed", fields);
  }

  /** A cluster is no longer a member. */
  left(cluster: string): void {
    for (const [key, problems] of this.#problems) {
      if (!key.startsWith(`${cluster} `)) continue;
      this.#metrics.refused(cluster, rejectedOf(problems), []);
      this.#problems.delete(key);
    }
    this.#metrics.left(cluster);
    this.#log.info("Cluster is no longer a member", { cluster });
  }

  /** A peer's kubeconfig cannot be used. */
  unreachable(cluster: string, thrown: unknown): void {
    this.#log.error("Cannot use the kubeconfig in a peer's Secret", { cluster, error: thrown });
  }

  contactLost(reason: LossReason): void {
    this.#log.warn("Lost contact with the local control plane", { reason });
  }

  /** `ms`: milliseconds since contact was lost. */
  contactRegained(ms: number): void {
    this.#log.info("Regained contact with the local control plane", {
      seconds: Math.round(ms / 1000),
    });
  }

  /** Unreadiness is held back. */
  held(unreadiness: MassUnreadiness): void {
    const reason: Reason = "held-back";
    this.#log.warn("Endpoints became unready together after an outage; holding back", {
      reason,
      ...unreadiness,
    });
  }

  /** Unreadiness is published again. */
  released(unreadiness: MassUnreadiness): void {
    this.#log.info("Publishing actual readiness again", { ...unreadiness });
  }

  /** The conditions of an export; none once it is gone. */
  claimed(key: ObjectKey, claims: readonly Claim[]): void {
    const before = this.#claims.get(key) ?? [];
    this.#metrics.claimed(before, claims);
    if (claims.length === 0) this.#claims.delete(key);
    else this.#claims.set(key, claims);
    for (const claim of claims) {
      const { type, status, reason, message } = claim;
      const was = before.find((one) => one.type === type);
      if (was?.status === status && was.reason === reason) continue;
      const fields = { export: key, condition: type, status, reason, message };
      this.#log.info("Export condition changed", fields);
    }
  }

  /** What an import was reconciled to; undefined: it is gone. `nearest`: absent if no cluster exports it. */
  imported(key: ObjectKey, wanted: ImportWanted | undefined, nearest?: Nearest): void {
    const before = this.#imports.get(key);
    const next = wanted === undefined || wanted.remove ? undefined : levelOf(wanted, nearest);
    this.#metrics.imported(before, next);
    if (next === undefined) this.#imports.delete(key);
    else this.#imports.set(key, next);
    if (before?.reason === wanted?.reason) return;
    const fields = { import: key, ...(before !== undefined && { from: before.reason }) };
    const line =
      wanted === undefined
        ? { message: "Import removed", fields }
        : { message: "Import state changed", fields: { ...fields, ...partsOf(wanted) } };
    this.#limitedImports.write(key, { level: "info", ...line });
  }

  /** Why a Service that asks for ClusterIP failover has it, or not; undefined: it does not ask, or is gone. */
  failover(key: ObjectKey, wanted: FailoverResult | undefined): void {
    const before = this.#failovers.get(key);
    if (before?.reason !== undefined) this.#metrics.gauges.failovers.dec({ reason: before.reason });
    if (wanted === undefined) this.#failovers.delete(key);
    else {
      this.#failovers.set(key, wanted);
      this.#metrics.gauges.failovers.inc({ reason: wanted.reason });
    }
    const isSame = before?.clusters.join() === wanted?.clusters.join();
    if (isSame && before?.reason === wanted?.reason) return;
    const fields = {
      service: key,
      ...(wanted !== undefined && { reason: wanted.reason, clusters: wanted.clusters }),
      ...(before !== undefined && { from: before.reason }),
    };
    const message =
      wanted === undefined ? "ClusterIP failover ended" : "ClusterIP failover changed";
    this.#limitedImports.write(key, { level: "info", message, fields });
  }

  /** The results are another replica's from now on. */
  failoversEnded(): void {
    this.#failovers.clear();
    this.#metrics.gauges.failovers.reset();
  }

  /** What was decided for a node with the startup taint; undefined: it has none, is gone, or another replica decides. */
  startupTaint(
    node: string,
    before: TaintDecision | undefined,
    now: TaintDecision | undefined,
  ): void {
    this.#metrics.tainted(before, now);
    if (now === undefined || before?.reason === now.reason) return;
    const level = now.reason === "agent-late" || now.reason === "agent-overdue" ? "warn" : "info";
    this.#write("node", level, "Evaluated startup taint of a node", { node, reason: now.reason });
  }

  /** The controller added the startup taint to a node, or removed it. */
  startupTaintChanged(node: string, { reason, isTainted }: TaintDecision): void {
    this.#metrics.counters.taintChanges.inc({ reason });
    const message = isTainted ? "Added startup taint" : "Removed startup taint";
    this.#write("node", "info", message, { node, reason });
  }

  /** An Event of an object was not created, and is not retried. `why`: the API server's fault, or a limit of ours. */
  eventLost(object: string, why: unknown): void {
    const reason = isEventLimit(why) ? why : reasonOf(why);
    this.#metrics.eventLost(reason);
    const error = isEventLimit(why) ? {} : { error: why };
    this.#log.debug("Event not created", { object, reason, ...error });
  }

  /** All overlaps of ClusterSet CIDRs with addresses of Services or pods. */
  overlapping(overlaps: readonly RangeOverlap[]): void {
    for (const { reason, range, with: other } of overlaps) {
      const fields = { reason, range: range.text, with: other.text };
      this.#log.warn("ClusterSet CIDR overlaps other addresses; allocating no VIP there", fields);
    }
  }

  /** A reconcile succeeded. `waited`, `took`: milliseconds in the queue, and in progress. */
  done(kind: TaskKind, key: ObjectKey, waited: number, took: number): void {
    this.#metrics.done(kind, (waited + took) / 1000);
    this.#log.trace("Reconciled", { kind, key, waited, took });
  }

  /** A reconcile failed, `failures` times in a row; it is retried after `wait` milliseconds at most. */
  failed(kind: TaskKind, key: ObjectKey, thrown: unknown, failures: number, wait: number): void {
    const reason = reasonOf(thrown);
    this.#metrics.failed(kind, reason);
    const fields = { kind, key, reason, failures, wait: Math.round(wait), error: thrown };
    if (isUsual(reason)) this.#log.debug("Retrying reconcile", fields);
    else if (isLogged(failures)) {
      const what = kind === "property" ? "Failed to write a ClusterProperty" : "Reconcile failed";
      this.#write(kind, "warn", `${what}; retrying`, fields);
    }
  }

  #write(subject: string, level: LogLevel, message: string, fields: LogFields): void {
    this.#limited.write(subject, { level, message, fields });
  }
}

/** True for a remark about a part that is used all the same. */
function isUsed({ reason }: Problem): boolean {
  return reason === "endpoint-cidrs-open";
}

function rejectedOf(problems: readonly Problem[]): readonly Problem[] {
  return problems.filter((problem) => !isUsed(problem));
}

function reasonOf(thrown: unknown): FaultReason | "unforeseen" {
  return thrown instanceof ApiFault ? thrown.reason : "unforeseen";
}

/** A limit of `EventRecorder`. */
export type EventLimit = Extract<Reason, "event-limit" | "event-queue-full">;

function isEventLimit(why: unknown): why is EventLimit {
  return why === "event-limit" || why === "event-queue-full";
}

/** True for failures that are normal with several writers. */
function isUsual(reason: string): boolean {
  return reason === "write-conflict" || reason === "not-leader";
}

/** What a log line says of an import. */
function partsOf({ reason, vips, status }: ImportWanted): LogFields {
  const clusters = status?.clusters;
  return { reason, ...(vips && { vips }), ...(clusters && { clusters }) };
}

function levelOf({ reason, status }: ImportWanted, nearest: Nearest | undefined): ImportLevel {
  const ready = status?.claims.find(({ type }) => type === "Ready");
  return { reason, lacksVip: ready?.status === "False", ...(nearest && { nearest }) };
}
