import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import { TimeSlice } from "../../common/event-loop.ts";
import type { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { FailoverResult } from "../failover/failover-of.ts";
import { type Dirty, partsOf, type Task } from "../model/task.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { nodeKey } from "./local-nodes.ts";
import type { Reconcilers } from "./reconcilers.ts";

/** Names that are reconciled at the same time, for each queue. */
const WORKERS = 16;
/** The numbers of a `WorkQueue`. */
type Numbers = Pick<
  WorkQueue<Task>,
  "depth" | "failing" | "failingFor" | "oldest" | "stuckFor" | "working"
>;

/**
 * The work queues of reconciles: one for exports, which may wait for a hub that does not answer, and one for everything local. They
 * are empty while the controller may not write; `begin` queues everything.
 */
export class ReconcileQueue {
  readonly #exports: WorkQueue<Task>;
  readonly #local: WorkQueue<Task>;
  readonly #slice: TimeSlice;
  #reconcilers: Reconcilers | undefined;

  constructor({ clock, events, random }: ControllerOptions) {
    this.#slice = new TimeSlice(clock);
    const newQueue = () =>
      new WorkQueue<Task>({
        reconcile: (task) => this.#reconcile(task),
        causeOf,
        groupOf,
        ownerOf: (task) => namesOf(partsOf(task).key).namespace,
        workers: WORKERS,
        clock,
        random,
        events: {
          done: (task, waited, took) => {
            const { kind, key } = partsOf(task);
            events.done(kind, key, waited, took);
          },
          failed: (task, thrown, failures, wait) => {
            const { kind, key } = partsOf(task);
            events.failed(kind, key, thrown, failures, wait);
          },
        },
      });
    this.#exports = newQueue();
    this.#local = newQueue();
  }

  /** Of all queues. */
  get tasks(): Numbers {
    const [one, other] = [this.#exports, this.#local];
    return {
      depth: one.depth + other.depth,
      failing: one.failing + other.failing,
      failingFor: Math.max(one.failingFor, other.failingFor),
      oldest: Math.max(one.oldest, other.oldest),
      stuckFor: Math.max(one.stuckFor, other.stuckFor),
      working: one.working + other.working,
    };
  }

  /** What each Service that asks for ClusterIP failover was last reconciled to. */
  get failovers(): Iterable<[ObjectKey, FailoverResult]> {
    return this.#reconcilers?.failover.results ?? [];
  }

  readonly dirty: Dirty = (kind, key, source) => {
    if (this.#reconcilers === undefined) return;
    // What changes an import may change where its Service fails over to.
    if (kind === "import") this.dirty("failover", key, source);
    if (kind === "failover" && !this.#reconcilers.failover.concerns(key)) return;
    this.#reconcilers.due(kind, key);
    const queue = kind === "export" ? this.#exports : this.#local;
    queue.add(`${kind} ${key}`, source);
  };

  /** Starts reconciling, with everything queued. */
  begin(reconcilers: Reconcilers): void {
    this.#reconcilers = reconcilers;
    this.exportAll();
    this.importAll();
    this.failoverAll();
    this.propertyAll();
    for (const name of reconcilers.taints.names()) this.dirty("node", nodeKey(name));
  }

  /** Stops reconciling until `begin`. */
  pause(): void {
    this.#reconcilers?.failover.end();
    this.#reconcilers?.taints.end();
    this.#reconcilers = undefined;
  }

  /** Queues everything that is or was exported. */
  exportAll(): void {
    for (const key of this.#reconcilers?.exported() ?? []) this.dirty("export", key);
  }

  /** Queues everything that is or was imported, and the status of all exports. `source`: as in `Dirty`. */
  importAll(source?: string): void {
    for (const key of this.#reconcilers?.imported() ?? []) this.dirty("import", key, source);
    for (const key of this.#reconcilers?.exports() ?? []) this.dirty("status", key, source);
  }

  /** Queues every Service that asks for ClusterIP failover, or has it. */
  failoverAll(): void {
    for (const key of this.#reconcilers?.failover.names() ?? []) this.dirty("failover", key);
  }

  /** Queues all ClusterProperties that may have to be written. */
  propertyAll(): void {
    for (const name of this.#reconcilers?.properties.names() ?? []) {
      this.dirty("property", objectKey("", name));
    }
  }

  /** Queues everything that was imported from a cluster. */
  importFrom(cluster: string): void {
    for (const key of this.#reconcilers?.importedFrom(cluster) ?? []) {
      this.dirty("import", key, cluster);
    }
  }

  /** Starts nothing new. Settles when reconciles in progress have ended. */
  async stop(): Promise<void> {
    this.pause();
    await Promise.all([this.#exports.stop(), this.#local.stop()]);
  }

  async #reconcile(task: Task): Promise<void> {
    // Reconciles without a write do not yield: a thousand in a row would block the event loop.
    if (this.#slice.expired) await this.#slice.yield();
    const { kind, key } = partsOf(task);
    await this.#reconcilers?.reconcile(kind, key);
  }
}

/** A webhook is for one kind, and often for one namespace. */
function groupOf(task: Task): string {
  const { kind, key } = partsOf(task);
  return `${kind} ${namesOf(key).namespace}`;
}

/** A right or a CRD is missing for all names; a quota, a policy or a namespace rejects those of one namespace, or of the registry. */
function causeOf(task: Task, { reason }: ApiFault): string {
  const { kind, key } = partsOf(task);
  if (reason === "forbidden" || reason === "not-served") return `${kind} ${reason}`;
  return kind === "export" ? kind : namesOf(key).namespace;
}
