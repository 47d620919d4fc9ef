import { mayTake } from "../../api/fair-budget.ts";
import { CONTROLLER_NAME } from "../../api/keys.ts";
import { namesOf } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { type ApiResource, apiVersionOf } from "../../common/kubernetes/resource.ts";
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
/** Events that wait, at most, as with client-go; namespaces share them (`mayTake`), so that one of them leaves no others out. */
const MOST_WAITING = 1_000;

/** Dependencies of an `EventRecorder`. */
export interface EventRecorderOptions {
  readonly writer: Pick<ApiWriter, "create">;
  readonly clock: Pick<Clock, "now">;
  readonly today: () => Date;
  readonly events: Pick<Observer, "eventLost">;
}

/** Creates Events of objects. A peer can cause any number of them, so those of each object and reason are limited; the next one has their number. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limit: LogRateLimit;
  readonly #slots = new Slots(AT_ONCE);
  #waiting = 0;
  readonly #waitingOf = new Map<string, number>();
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
      const { write, leftOut } = this.#limit.ration(about);
      const { namespace } = namesOf(object.key);
      const hasRoom = mayTake(this.#waitingOf.get(namespace) ?? 0, MOST_WAITING - this.#waiting);
      if (!write || !hasRoom) {
        observer.eventLost(object.key, write ? "event-queue-full" : "event-limit");
        continue;
      }
      const event = this.#eventOf(resource, object, one, 1 + leftOut);
      this.#wait(namespace, 1);
      this.#slots
        .hold(() => writer.create(EVENTS, event), namespace)
        .catch((thrown: unknown) => observer.eventLost(object.key, thrown))
        .finally(() => this.#wait(namespace, -1));
    }
  }

  #wait(namespace: string, by: 1 | -1): void {
    this.#waiting += by;
    const count = (this.#waitingOf.get(namespace) ?? 0) + by;
    if (count === 0) this.#waitingOf.delete(namespace);
    else this.#waitingOf.set(namespace, count);
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
      // Those of objects without a namespace are in this one.
      metadata: { namespace: namespace || "default", name: `${name}.${suffix}` },
      involvedObject: {
        apiVersion: apiVersionOf(resource, version),
        kind: resource.kind,
        ...(namespace !== "" && { namespace }),
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
