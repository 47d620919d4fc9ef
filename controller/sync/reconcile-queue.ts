import { TimeSlice } from "../../common/event-loop.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import { type Dirty, partsOf, type Task } from "../model/task.ts";
import type { ControllerOptions } from "./controller-options.ts";
import type { Reconcilers } from "./reconcilers.ts";

/** Names that are reconciled at the same time. */
const WORKERS = 16;

/** The work queue of reconciles. It is empty while the controller may not write; `begin` queues everything. */
export class ReconcileQueue {
  readonly tasks: WorkQueue<Task>;
  readonly #slice: TimeSlice;
  #reconcilers: Reconcilers | undefined;

  constructor({ clock, events, random }: ControllerOptions) {
    this.#slice = new TimeSlice(clock);
    this.tasks = new WorkQueue<Task>({
      reconcile: (task) => this.#reconcile(task),
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
  }

  readonly dirty: Dirty = (kind, key, source) => {
    if (this.#reconcilers === undefined) return;
    this.#reconcilers.due(kind, key);
    this.tasks.add(`${kind} ${key}`, source);
  };

  /** Starts reconciling, with everything queued. */
  begin(reconcilers: Reconcilers): void {
    this.#reconcilers = reconcilers;
    this.exportAll();
    this.importAll();
  }

  /** Stops reconciling until `begin`. */
  pause(): void {
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

  /** Queues everything that was imported from a cluster. */
  importFrom(cluster: string): void {
    for (const key of this.#reconcilers?.importedFrom(cluster) ?? []) {
      this.dirty("import", key, cluster);
    }
  }

  /** Starts nothing new. Settles when reconciles in progress have ended. */
  stop(): Promise<void> {
    this.pause();
    return this.tasks.stop();
  }

  async #reconcile(task: Task): Promise<void> {
    // Reconciles without a write do not yield: a thousand in a row would block the event loop.
    if (this.#slice.expired) await this.#slice.yield();
    const { kind, key } = partsOf(task);
    await this.#reconcilers?.reconcile(kind, key);
  }
}
