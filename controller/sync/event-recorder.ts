import { CONTROLLER_NAME } from "../../api/keys.ts";
import type { ApiResource } from "../../common/kubernetes/api-resource.ts";
import { apiVersionOf } from "../../common/kubernetes/resource-path.ts";
import type { ApiWriter } from "../../common/kubernetes/writer.ts";
import type { News } from "../import/newsworthy.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Seen } from "../stores/fact-store.ts";

/** Events of the core group: every Kubernetes has them, and `kubectl describe` shows them. */
export const EVENTS: ApiResource = {
  group: "",
  versions: ["v1"],
  resource: "events",
  kind: "Event",
};

/** What an `EventRecorder` is made of. */
export interface EventRecorderOptions {
  readonly writer: Pick<ApiWriter, "create">;
  readonly today: () => Date;
  /** Hears of Events that were not taken: they are for people, and nothing waits for them. */
  readonly failed: (thrown: unknown) => void;
}

/** Tells authors of objects what has become of them, where they look: in Events of the objects. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  #count = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Tells all of it, sooner or later. */
  tell(resource: ApiResource, object: Seen, news: readonly News[]): void {
    for (const one of news) {
      this.#options.writer
        .create(EVENTS, this.#eventOf(resource, object, one))
        .catch((thrown: unknown) => this.#options.failed(thrown));
    }
  }

  #eventOf(resource: ApiResource, { key, uid }: Seen, { level, reason, message }: News): Manifest {
    const [namespace = "", name = ""] = key.split("/");
    const today = this.#options.today();
    const time = `${today.toISOString().slice(0, 19)}Z`;
    // As client-go names them; the count tells those of one millisecond apart.
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
      count: 1,
    };
  }
}
