import { CONTROLLER_NAME } from "../../api/keys.ts";
import { namesOf } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import type { ApiResource } from "../../common/kubernetes/resource.ts";
import { apiVersionOf } from "../../common/kubernetes/resource.ts";
import type { ApiWriter } from "../../common/kubernetes/writer.ts";
import { LogRateLimit } from "../../common/log-rate-limit.ts";
import { Slots } from "../../common/queue/slots.ts";
import type { ConditionEvent } from "../import/condition-events.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Observer } from "../observe/observer.ts";
import type { Seen } from "../stores/fact-store.ts";

/** Events of the core group, which `kubectl describe` shows. */
export const EVENTS: ApiResource = {
  group: "",
  versions: ["v1"],
  resource: "events",
  kind: "Event",
};

/** Limits of client-go: Events of one object and reason at once, and milliseconds for one more. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Events that are created at once: few, because a webhook may hold up each for seconds, and other writes share the connections. */
const AT_ONCE = 2;
/** Events that wait, at most, as with client-go. */
const MOST_WAITING = 1_000;

/** Dependencies of an `EventRecorder`. */
export interface EventRecorderOptions {
  readonly writer: Pick<ApiWriter, "create">;
  readonly clock: Pick<Clock, "now">;
  readonly today: () => Date;
  readonly events: Pick<Observer, "eventFailed">;
}

/** Creates Events of objects. A peer can cause any number of them, so those of each object and reason are limited; the next one has their number. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limit: LogRateLimit;
  readonly #slots = new Slots(AT_ONCE);
  #waiting = 0;
  #count = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#limit = new LogRateLimit(options.clock, REFILL_MS, BURST);
  }

  record(
    resource: ApiResource,
    object: Pick<Seen, "key" | "uid">,
    events: readonly ConditionEvent[],
  ): void {
    const { writer, events: observer } = this.#options;
    for (const one of events) {
      const about = `${resource.kind} ${object.key} ${one.reason}`;
      const { write, leftOut, isFirst } = this.#limit.ration(about);
      if (isFirst) observer.eventFailed(new Error(`Too many Events of ${object.key}`));
      if (!write) continue;
      if (this.#waiting >= MOST_WAITING) {
        observer.eventFailed(new Error(`Too many Events wait; leaving out one of ${object.key}`));
        continue;
      }
      const event = this.#eventOf(resource, object, one, 1 + leftOut);
      this.#waiting++;
      this.#slots
        .hold(() => writer.create(EVENTS, event))
        .catch((thrown: unknown) => observer.eventFailed(thrown))
        .finally(() => this.#waiting--);
    }
  }

  #eventOf(
    resource: ApiResource,
    { key, uid }: Pick<Seen, "key" | "uid">,
    { level, reason, message }: ConditionEvent,
    count: number,
  ): Manifest {
    const { namespace, name } = namesOf(key);
    const today = this.#options.today();
    const time = `${today.toISOString().slice(0, 19)}Z`;
    // client-go's names; the count distinguishes Events of the same millisecond.
    const suffix = `${today.getTime().toString(16)}${(this.#count++ % 4096).toString(16)}`;
    const [version = ""] = resource.versions;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name: `${name}.${suffix}` },
      involvedObject: {
        apiVersion: apiVersionOf(resource, version),
        kind: resource.kind,
        namespace,
        name,
        uid,
      },
      type: level,
      reason,
      message,
      source: { component: CONTROLLER_NAME },
      reportingComponent: CONTROLLER_NAME,
      firstTimestamp: time,
      lastTimestamp: time,
      count,
    };
  }
}
