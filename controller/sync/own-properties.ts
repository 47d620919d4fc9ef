import { CONTROLLER_NAME } from "../../api/keys.ts";
import type { Clock } from "../../common/clock.ts";
import { CLUSTER_PROPERTIES } from "../../common/kubernetes/kinds.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { Observer } from "../observe/observer.ts";
import type { IdentitySource } from "./identity-source.ts";
import type { Answers } from "./refresh.ts";
import type { Writing } from "./write-permission.ts";

/** Milliseconds until a failed creation is retried. */
const BACKOFF = { min: 1_000, max: 60_000 } as const;

/** Dependencies of `OwnProperties`. */
export interface OwnPropertiesOptions {
  readonly source: Pick<IdentitySource, "state">;
  readonly writing: Writing;
  /** The reflector of ClusterProperties. */
  readonly reflector: Pick<Answers, "wrote">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: Pick<Observer, "propertyFailed">;
}

/** Creates missing ClusterProperties from flags. Existing ones are never written. */
export class OwnProperties {
  readonly #options: OwnPropertiesOptions;
  readonly #writer: ApiWriter;
  #queue: WorkQueue<string> | undefined;
  /** The last reported failure, by property. */
  readonly #reported = new Map<string, string>();

  constructor(options: OwnPropertiesOptions) {
    this.#options = options;
    this.#writer = new ApiWriter({ ...options.writing, fieldManager: CONTROLLER_NAME });
  }

  start(): void {
    const { clock, random } = this.#options;
    this.#queue = new WorkQueue({
      reconcile: (name) => this.#create(name),
      workers: 1,
      backoff: BACKOFF,
      clock,
      random,
      events: { done: () => undefined, failed: (name, thrown) => this.#failed(name, thrown) },
    });
    for (const { metadata } of this.#missing()) this.#queue.add(metadata.name);
  }

  stop(): void {
    void this.#queue?.stop();
  }

  #missing() {
    const { state } = this.#options.source;
    return state?.reason === "identified" ? state.missing : [];
  }

  async #create(name: string): Promise<void> {
    const manifest = this.#missing().find(({ metadata }) => metadata.name === name);
    if (manifest === undefined) return;
    const { object } = await this.#writer.create(CLUSTER_PROPERTIES, manifest);
    this.#options.reflector.wrote(object);
  }

  #failed(name: string, thrown: unknown): void {
    const text = String(thrown);
    if (this.#reported.get(name) === text) return;
    this.#reported.set(name, text);
    this.#options.events.propertyFailed(name, thrown);
  }
}
