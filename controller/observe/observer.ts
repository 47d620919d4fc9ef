import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { problemText, shown } from "../../api/problem.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
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
import type { TaskKind } from "../sync/task.ts";
import type { ControllerMetrics, ImportLevel, Origin } from "./metrics.ts";

/** Failures of one task that are told: the first, and then every time that they have doubled. */
const isTold = (failures: number): boolean => (failures & (failures - 1)) === 0;
/** Problems of one object that are told one by one. */
const MOST_LINES = 5;

/** Turns what the controller sees, decides and does into metrics, and lines of the log: transitions, never passes. */
export class Observer implements ControllerEvents {
  readonly #log: Logger;
  readonly #metrics: ControllerMetrics;
  readonly #problems = new Map<string, readonly Problem[]>();
  readonly #lost = new Map<string, string>();
  readonly #imports = new Map<ObjectKey, ImportLevel>();
  readonly #claims = new Map<ObjectKey, readonly Claim[]>();

  constructor(log: Logger, metrics: ControllerMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  connection(
    cluster: string | undefined,
    resource: string,
    { reason, detail }: ReflectorState,
  ): void {
    this.#metrics.connection(originOf(cluster), resource, reason);
    const source = `${cluster ?? ""} ${resource}`;
    const lost = this.#lost.get(source);
    const fields = {
      ...(cluster !== undefined && { cluster }),
      resource,
      reason,
      ...(detail !== undefined && { detail: shown(detail) }),
    };
    const isUsual = ["watching", "listing", "expired"].includes(reason);
    if (!isUsual && reason !== lost) {
      this.#lost.set(source, reason);
      this.#log.warn("An API server is not followed; what is known stays.", fields);
    } else if (reason === "watching" && lost !== undefined) {
      this.#lost.delete(source);
      this.#log.info("An API server is followed again.", { ...fields, was: lost });
    } else this.#log.debug("A connection is in another state.", fields);
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
    this.#log.info("This replica has another part.", { reason, holder });
  }

  electionFailed(fault: ApiFault): void {
    this.#log.debug("The Lease of the election is not reached.", { error: fault });
  }

  registering({ reason, other }: LeaseStep): void {
    const fields = { reason, ...(other !== undefined && { other }) };
    if (reason === "duplicate-cluster-id") {
      this.#log.error("Another cluster publishes under our id.", fields);
    } else this.#log.info("The Lease of our registry was looked at.", fields);
  }

  registeringFailed(thrown: unknown): void {
    this.#log.warn("What says who we are could not be written.", { error: thrown });
  }

  working(isWorking: boolean): void {
    this.#log.info(
      isWorking ? "All is listed; this replica works." : "This replica writes nothing.",
    );
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
    this.#log.warn("Endpoints turned unready together after an outage; held back.", { ...drop });
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
    const reason = thrown instanceof ApiFault ? thrown.reason : "unforeseen";
    this.#metrics.failed(kind, reason);
    const fields = { kind, key, reason, failures, wait: Math.round(wait), error: thrown };
    const isUsual = reason === "write-conflict" || reason === "not-leader";
    if (isUsual) this.#log.debug("A task is done again.", fields);
    else if (isTold(failures)) this.#log.warn("A task failed; it is tried again.", fields);
  }
}

function originOf(cluster: string | undefined): Origin {
  return cluster === undefined ? "own" : "member";
}

function levelOf({ reason, status }: ImportWanted): ImportLevel {
  const ready = status?.claims.find(({ type }) => type === "Ready");
  return { reason, lacksVip: ready?.status === "False" };
}
