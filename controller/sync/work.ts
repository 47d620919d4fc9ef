import type { ObjectKey } from "../../api/names.ts";
import { Turn } from "../../common/kubernetes/turn.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { ControllerOptions } from "./controller-options.ts";
import type { Flow } from "./flow.ts";
import { partsOf, type Task, type TaskKind } from "./task.ts";

/** Names that are worked on at the same time. */
const WORKERS = 16;

/** What `Work` is made of. */
export interface WorkOptions extends Pick<ControllerOptions, "clock" | "random"> {
  readonly events: Pick<ControllerOptions["events"], "done" | "failed">;
}

/** What is to be done about names, one name at a time, while anything may be done. */
export class Work {
  readonly #queue: WorkQueue<Task>;
  readonly #turn: Turn;
  /** Undefined while nothing may be done. */
  #flow: Flow | undefined;

  constructor({ clock, events, random }: WorkOptions) {
    this.#turn = new Turn(clock);
    this.#queue = new WorkQueue<Task>({
      reconcile: (task) => this.#do(task),
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

  /** The queue, to be looked at. */
  get queue(): Pick<WorkQueue<Task>, "depth" | "failing" | "oldest" | "working"> {
    return this.#queue;
  }

  /** Something about a name may be something else. While nothing may be done, nothing is kept: `begin` looks at all. */
  add(kind: TaskKind, key: ObjectKey): void {
    if (this.#flow === undefined) return;
    this.#flow.due(kind, key);
    this.#queue.add(`${kind} ${key}`);
  }

  /** It may be written from now on: all that there is is looked at. */
  begin(flow: Flow): void {
    this.#flow = flow;
    this.exportAll();
    this.importAll();
  }

  /** Nothing begins until it may be written again. */
  pause(): void {
    this.#flow = undefined;
  }

  /** Looks at all that is, or was, exported. */
  exportAll(): void {
    for (const key of this.#flow?.exported() ?? []) this.add("export", key);
  }

  /** Looks at all that is, or was, imported, and at what there is to say of exports. */
  importAll(): void {
    for (const key of this.#flow?.imported() ?? []) this.add("import", key);
    for (const key of this.#flow?.exports() ?? []) this.add("status", key);
  }

  /** Looks at all that is imported from a cluster, whatever it exports now. */
  importFrom(cluster: string): void {
    for (const key of this.#flow?.importedFrom(cluster) ?? []) this.add("import", key);
  }

  /** Nothing begins after the call. Settles when what is under way has ended. */
  stop(): Promise<void> {
    this.pause();
    return this.#queue.stop();
  }

  async #do(task: Task): Promise<void> {
    // Where nothing is to be written, nothing waits either: a thousand names in a row would hold everything up.
    if (this.#turn.over) await this.#turn.pass();
    const { kind, key } = partsOf(task);
    await this.#flow?.reconcile(kind, key);
  }
}
