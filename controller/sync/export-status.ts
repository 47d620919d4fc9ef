import type { ObjectKey } from "../../api/names.ts";
import { SERVICE_EXPORTS } from "../../common/kubernetes/kinds.ts";
import type { RegistryKind } from "../config/flags.ts";
import { conditionEvents } from "../import/condition-events.ts";
import { exportClaims } from "../import/export-claims.ts";
import { rejectedEvent } from "../import/import-claims.ts";
import { exportStatus } from "../import/status-manifest.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ExportedService } from "./exported-service.ts";
import type { ExportOutcome } from "./exporter.ts";
import { Rejections } from "./rejections.ts";

/** Dependencies of an `ExportStatus`. */
export interface ExportStatusOptions {
  readonly own: LocalStores;
  readonly applier: Applier;
  /** The local cluster's ID. */
  readonly cluster: string;
  readonly registry: RegistryKind;
  readonly outcome: (key: ObjectKey) => ExportOutcome | undefined;
  readonly exported: (key: ObjectKey) => ExportedService;
  /** False while an exporter of the name may be unknown. */
  readonly isComplete: (key: ObjectKey, service: ExportedService) => boolean;
  /** Milliseconds since 1970. */
  readonly today: () => number;
  readonly recorder: EventRecorder;
  readonly events: Pick<Observer, "claimed">;
}

/** Writes the conditions `Valid`, `Ready` and `Conflict` of ServiceExports. */
export class ExportStatus {
  readonly #options: ExportStatusOptions;
  readonly #rejections: Rejections;

  constructor(options: ExportStatusOptions) {
    this.#options = options;
    this.#rejections = new Rejections(options.today);
  }

  /** Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { own, applier, cluster, registry, today, events } = this.#options;
    const fact = own.exports.fact(key);
    const seen = own.exports.seen(key);
    const outcome = this.#options.outcome(key);
    if (fact === undefined) {
      events.claimed(key, []);
      this.#rejections.note(key, undefined);
    }
    if (fact === undefined || seen === undefined || outcome === undefined) return;
    const service = this.#options.exported(key);
    const { merged, contributions } = service;
    const record = contributions.find((one) => one.record.cluster === cluster)?.record;
    const claims = exportClaims({
      ...outcome,
      registry,
      ...(record !== undefined && { record }),
      ...(merged !== undefined && { merged }),
      isComplete: this.#options.isComplete(key, service),
      seen: fact.conditions,
    });
    const status = exportStatus(fact, claims, today());
    const written = await applier.applyStatus(status, seen).catch((fault: unknown) => {
      const rejection = this.#rejections.note(key, fault);
      if (rejection !== undefined && this.#rejections.tell(key)) {
        const event = rejectedEvent(rejection, "the status of this export");
        this.#options.recorder.record(SERVICE_EXPORTS, seen, [event]);
      }
      throw fault;
    });
    this.#rejections.note(key, undefined);
    const news = written ? conditionEvents(claims, fact.conditions) : [];
    this.#options.recorder.record(SERVICE_EXPORTS, seen, news);
    events.claimed(key, claims);
  }
}
