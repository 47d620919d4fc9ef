import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { problemText } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { LeaderState } from "../../common/lease/leader-elector.ts";
import type { Logger } from "../../common/log.ts";
import type { RangeOverlap } from "../allocate/overlaps.ts";
import type { LeaseStep } from "../identity/lease-step.ts";
import type { OwnIdentity } from "../identity/own-identity.ts";
import type { PeerVerdict } from "../identity/peer-verdict.ts";
import type { ImportWanted } from "../import/import-of.ts";
import type { ClusterSight } from "../liveness/cluster-watch.ts";
import type { Drop } from "../liveness/collective-drop.ts";
import type { LossReason } from "../liveness/contact.ts";
import type { Claim } from "../model/condition.ts";
import type { ControllerEvents } from "../sync/controller-events.ts";
import type { PermitReason } from "../sync/permit-reason.ts";
import type { TaskKind } from "../sync/task.ts";
import { Connections } from "./connections.ts";
import { hintFor } from "./hint.ts";
import type { ControllerMetrics, ImportLevel } from "./metrics.ts";

/** Failures of one task that are told: the first, and then every time that they have doubled. */
const isTold = (failures: number): boolean => (failures & (failures - 1)) === 0;
/** Failures in a row after which what is usual is not. */
const MOST_RETRIES = 4;
/** Problems of one object that are told one by one. */
const MOST_LINES = 5;

/** Turns what the controller sees, decides and does into metrics, and lines of the log: transitions, never passes. */
export class Observer implements ControllerEvents {
  readonly #log: Logger;
  readonly #metrics: ControllerMetrics;
  readonly #problems = new Map<string, readonly Problem[]>();
  readonly #connections: Connections;
  readonly #imports = new Map<ObjectKey, ImportLevel>();
  readonly #claims = new Map<ObjectKey, readonly Claim[]>();
  /** Why the Lease of the election is not reached, as far as that was told. */
  #electionFault: FaultReason | undefined;

  constructor(log: Logger, metrics: ControllerMetrics) {
    this.#log = log;
    this.#metrics = metrics;
    this.#connections = new Connections(log, metrics);
  }

  connection(cluster: string | undefined, resource: string, state: ReflectorState): void {
    this.#connections.observe(cluster, resource, state);
  }

  problems(cluster: string | undefined, object: string, problems: readonly Problem[]): void {
    const key = `${cluster ?? ""} ${object}`;
    const before = this.#problems.get(key) ?? [];
    if (before.length === 0 && problems.length === 0) return;
    this.#metrics.refused(cluster, before, problems);
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, problems);
    const known = new Set(before.map(problemText));
    const fresh = problems.filter((problem) => !known.has(problemText(problem)));
    const about = cluster === undefined ? {} : { cluster };
    for (const problem of fresh.slice(0, MOST_LINES)) {
      this.#log.warn("Refused.", { ...about, ...problem });
    }
    if (fresh.length > MOST_LINES) {
      const more = fresh.length - MOST_LINES;
      this.#log.warn("Refused, and more of the same object.", { ...about, object, more });
    }
    if (problems.length === 0) this.#log.info("No longer refused.", { ...about, object });
  }

  identified(own: OwnIdentity): void {
    if (own.reason === "identified") this.#log.info("It is known who we are.", { ...own.identity });
    else {
      const { reason, detail } = own;
      this.#log.error("It is not known who we are; nothing is written.", { reason, detail });
    }
  }

  leader({ reason, holder }: LeaderState): void {
    this.#electionFault = undefined;
    this.#log.info("This replica has another part.", { reason, holder });
  }

  electionFailed(fault: ApiFault): void {
    const { reason } = fault;
    const isTold = isUsual(reason) || reason === this.#electionFault;
    if (!isUsual(reason)) this.#electionFault = reason;
    this.#log.write({
      level: isTold ? "debug" : "warn",
      message: "The Lease of the election is not reached; without it, nobody writes.",
      fields: { reason, ...hintFor(reason), error: fault },
    });
  }

  registering({ reason, other }: LeaseStep): void {
    const fields = { reason, ...(other !== undefined && { other }) };
    if (reason === "duplicate-cluster-id") {
      this.#log.error("Another cluster publishes under our id.", fields);
    } else this.#log.info("The Lease of our registry was looked at.", fields);
  }

  registeringFailed(namespace: string, thrown: unknown, failures: number): void {
    const reason = reasonOf(thrown);
    const fields = { namespace, reason, failures, ...hintFor(reason), error: thrown };
    if (isUsual(reason) && failures < MOST_RETRIES)
      this.#log.debug("The Lease of our registry is looked at again.", fields);
    else if (isTold(failures)) {
      this.#log.warn("The Lease of our registry could not be written; it is tried again.", fields);
    }
  }

  propertyFailed(name: string, thrown: unknown): void {
    const reason = reasonOf(thrown);
    const fields = { property: name, reason, error: thrown };
    // Somebody else has created it meanwhile.
    if (isUsual(reason)) this.#log.debug("A ClusterProperty is there already.", fields);
    else this.#log.warn("A ClusterProperty could not be created.", fields);
  }

  working(isWorking: boolean, lacks: PermitReason | undefined): void {
    if (isWorking) this.#log.info("All is listed; this replica works.");
    else this.#log.info("This replica writes nothing.", { reason: lacks });
  }

  judged(cluster: string, { reason, records, detail }: PeerVerdict): void {
    const fields = { cluster, reason, ...(detail !== undefined && { detail }) };
    if (reason === "member" || reason === "not-introduced") {
      this.#log.info("A cluster is judged.", fields);
    } else this.#log.error("A cluster is not what it should be.", { ...fields, records });
  }

  turned(cluster: string, { state, reason }: ClusterSight): void {
    this.#metrics.turned(cluster, state);
    const level = state === "stale" ? "warn" : "info";
    this.#log.write({
      level,
      message: state === "stale" ? "A cluster is stale." : "A cluster is alive again.",
      fields: { cluster, reason },
    });
  }

  replaced(cluster: string, uid: string, before: string): void {
    this.#log.warn("Somebody else speaks for a cluster.", { cluster, uid, before });
  }

  left(cluster: string): void {
    for (const [key, problems] of this.#problems) {
      if (!key.startsWith(`${cluster} `)) continue;
      this.#metrics.refused(cluster, problems, []);
      this.#problems.delete(key);
    }
    this.#metrics.left(cluster);
    this.#log.info("A cluster is no member any more.", { cluster });
  }

  unreachable(cluster: string, thrown: unknown): void {
    this.#log.error("A peer cannot be reached as its Secret says.", { cluster, error: thrown });
  }

  contactLost(reason: LossReason): void {
    this.#log.warn("Our own cluster is not heard.", { reason });
  }

  contactRegained(ms: number): void {
    this.#log.info("Our own cluster is heard again.", { seconds: Math.round(ms / 1000) });
  }

  held(drop: Drop): void {
    const reason: Reason = "held-back";
    const what = "Endpoints turned unready together after an outage; held back.";
    this.#log.warn(what, { reason, ...drop });
  }

  believed(drop: Drop): void {
    this.#log.info("What endpoints say is published again.", { ...drop });
  }

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
      this.#log.info("An export has another condition.", fields);
    }
  }

  imported(key: ObjectKey, wanted: ImportWanted | undefined): void {
    const before = this.#imports.get(key);
    // What is withdrawn or handed back is nobody's import any more.
    const next = wanted === undefined || wanted.remove ? undefined : levelOf(wanted);
    this.#metrics.imported(before, next);
    if (next === undefined) this.#imports.delete(key);
    else this.#imports.set(key, next);
    if (before?.reason === wanted?.reason) return;
    const fields = { import: key, ...(before !== undefined && { from: before.reason }) };
    if (wanted !== undefined) {
      this.#log.info("An import has another state.", { ...fields, reason: wanted.reason });
    } else this.#log.info("An import is gone.", fields);
  }

  eventFailed(thrown: unknown): void {
    this.#log.debug("An Event was not taken.", { error: thrown });
  }

  overlapping(overlaps: readonly RangeOverlap[]): void {
    for (const { reason, range, with: other } of overlaps) {
      const fields = { reason, range: range.text, with: other.text };
      this.#log.warn("VIPs share a range with others; none is taken from there.", fields);
    }
  }

  done(kind: TaskKind, key: ObjectKey, waited: number, took: number): void {
    this.#metrics.done(kind, (waited + took) / 1000);
    this.#log.trace("A task is done.", { kind, key, waited, took });
  }

  failed(kind: TaskKind, key: ObjectKey, thrown: unknown, failures: number, wait: number): void {
    const reason = reasonOf(thrown);
    this.#metrics.failed(kind, reason);
    const fields = { kind, key, reason, failures, wait: Math.round(wait), error: thrown };
    if (isUsual(reason)) this.#log.debug("A task is done again.", fields);
    else if (isTold(failures)) this.#log.warn("A task failed; it is tried again.", fields);
  }
}

function reasonOf(thrown: unknown): FaultReason | "unforeseen" {
  return thrown instanceof ApiFault ? thrown.reason : "unforeseen";
}

/** True for failures that belong to several writers. */
function isUsual(reason: string): boolean {
  return reason === "write-conflict" || reason === "not-leader";
}

function levelOf({ reason, status }: ImportWanted): ImportLevel {
  const ready = status?.claims.find(({ type }) => type === "Ready");
  return { reason, lacksVip: ready?.status === "False" };
}
