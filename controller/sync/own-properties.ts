import { CONTROLLER_NAME } from "../../api/keys.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { CLUSTER_PROPERTIES } from "../stores/resources.ts";
import type { Answered } from "./applier.ts";
import type { ControllerEvents } from "./controller-events.ts";
import type { WhoWeAre } from "./who-we-are.ts";
import type { Writing } from "./writing.ts";

/** Milliseconds until a ClusterProperty is tried again: doubled each time, to at most. */
const AGAIN = { first: 1_000, most: 60_000 } as const;

/** What `OwnProperties` are made of. */
export interface OwnPropertiesOptions {
  readonly who: Pick<WhoWeAre, "state">;
  readonly writing: Writing;
  /** Where ClusterProperties come from. */
  readonly feed: Answered;
  readonly clock: Clock;
  readonly events: Pick<ControllerEvents, "propertyFailed">;
}

/** Creates ClusterProperties that only flags say, until they are there; never writes one that is. */
export class OwnProperties {
  readonly #options: OwnPropertiesOptions;
  readonly #writer: ApiWriter;
  #cancel: Cancel = () => undefined;
  #running = false;
  #isBusy = false;
  #wait: number = AGAIN.first;
  /** What was said last of each that could not be created: the same is not said twice. */
  readonly #said = new Map<string, string>();

  constructor(options: OwnPropertiesOptions) {
    this.#options = options;
    this.#writer = new ApiWriter({ ...options.writing, fieldManager: CONTROLLER_NAME });
  }

  /** Begins, or goes on. */
  start(): void {
    this.#running = true;
    this.#wait = AGAIN.first;
    void this.#create();
  }

  /** Creates none any more. */
  stop(): void {
    this.#running = false;
    this.#cancel();
  }

  async #create(): Promise<void> {
    this.#cancel();
    // A round that is under way goes on, and sees itself that all is wanted again.
    if (this.#isBusy) return;
    this.#isBusy = true;
    const isDone = await this.#createMissing();
    this.#isBusy = false;
    if (isDone || !this.#running) return;
    this.#cancel = this.#options.clock.after(this.#wait, () => void this.#create());
    this.#wait = Math.min(this.#wait * 2, AGAIN.most);
  }

  /** True if nothing lacks any more. */
  async #createMissing(): Promise<boolean> {
    const { feed, who } = this.#options;
    if (who.state?.reason !== "identified") return true;
    let isDone = true;
    for (const manifest of who.state.missing) {
      if (!this.#running) return false;
      try {
        const { object } = await this.#writer.create(CLUSTER_PROPERTIES, manifest);
        feed.wrote(object);
      } catch (thrown) {
        isDone = false;
        this.#failed(manifest.metadata.name, thrown);
      }
    }
    return isDone;
  }

  #failed(name: string, thrown: unknown): void {
    const saying = String(thrown);
    if (this.#said.get(name) === saying) return;
    this.#said.set(name, saying);
    this.#options.events.propertyFailed(name, thrown);
  }
}
