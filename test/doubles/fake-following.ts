import assert from "node:assert/strict";
import type { KubernetesOptions } from "../../agent/sources/kubernetes/kubernetes-source.ts";
import type { Resource } from "../../agent/sources/kubernetes/queries.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";

/** Reflectors that emit a test's events. */
export class FakeFollowing {
  readonly queries = new Map<string, ResourceQuery>();
  started = 0;
  stopped = 0;
  /** Objects that the source asked for again. */
  readonly again: string[] = [];
  readonly #events = new Map<string, ReflectorEvents>();

  readonly follow: KubernetesOptions["follow"] = (query, events) => {
    this.queries.set(query.resource, query);
    this.#events.set(query.resource, events);
    return {
      start: () => {
        this.started++;
      },
      stop: async () => {
        this.stopped++;
      },
      again: (keys) => void this.again.push(...keys),
    };
  };

  /** Tells the source about one resource. */
  tell(resource: Resource): ReflectorEvents {
    const events = this.#events.get(resource);
    assert.ok(events, `nobody follows ${resource}`);
    return events;
  }
}
