import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { SERVICES } from "../../common/kubernetes/kinds.ts";
import { LogRateLimit } from "../../common/log-rate-limit.ts";
import { failoverEvent, isQuiet, isSameResult } from "../failover/failover-event.ts";
import type { FailoverInput } from "../failover/failover-input.ts";
import {
  type FailoverResult,
  type FailoverWanted,
  failoverOf,
  namesIn,
  without,
} from "../failover/failover-of.ts";
import { LocalEndpoints } from "../failover/local-endpoints.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import { converge, isRefused, keyOf } from "./converge.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ExportedService } from "./exported-service.ts";

/** Events of all Services at once, and milliseconds for one more: an annotation on a Namespace concerns all its Services. */
const BURST = 100;
const REFILL_MS = 1000;

/** Dependencies of `Failover`. */
export interface FailoverOptions extends Pick<FailoverInput, "isInRotation"> {
  readonly own: LocalStores;
  readonly slices: Applier;
  /** False: no Service may fail over in this cluster. */
  readonly isAllowed: boolean;
  readonly exported: (key: ObjectKey) => ExportedService;
  /** As of `Importer`. */
  readonly areAllSynced: (key: ObjectKey, service: ExportedService) => boolean;
  readonly here: () => FailoverInput["here"];
  /** The other clusters. */
  readonly others: () => readonly string[];
  readonly declared: () => FailoverInput["declared"];
  readonly recorder: Pick<EventRecorder, "record">;
  readonly clock: Pick<Clock, "now">;
  readonly events: Pick<Observer, "failover" | "failoversEnded">;
}

/**
 * Writes failover slices: endpoints of other clusters, listed for a Service of this cluster that asks for it. A proxy such as kube-proxy
 * uses them while the Service has no ready endpoint, and needs no controller for that.
 */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #limit: LogRateLimit;
  readonly #last = new Map<ObjectKey, FailoverResult>();

  constructor(options: FailoverOptions) {
    this.#options = options;
    this.#limit = new LogRateLimit(options.clock, REFILL_MS, BURST);
  }

  /** Services that ask for it, those that have slices, and those with a result. */
  names(): ReadonlySet<ObjectKey> {
    const { own } = this.#options;
    const asking = [...own.services.facts()]
      .map(({ service }) => service.key)
      .filter((key) => own.asksForFailover(key));
    return new Set([...asking, ...own.failoverSlices.groups(), ...this.#last.keys()]);
  }

  /** True if a reconcile of this name can change anything. */
  concerns(key: ObjectKey): boolean {
    const { own } = this.#options;
    const hasSlices = own.failoverSlices.keysOf(key).size > 0;
    return own.asksForFailover(key) || hasSlices || this.#last.has(key);
  }

  /** What each Service was last reconciled to. */
  get results(): ReadonlyMap<ObjectKey, FailoverResult> {
    return this.#last;
  }

  /** Another replica reconciles from now on: what comes of it is not known here. */
  end(): void {
    this.#last.clear();
    this.#options.events.failoversEnded();
  }

  /** Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const wanted = this.#wanted(key);
    // Kubernetes deletes what a Service owns, and the content of a namespace. Both may also only be missing in a list.
    if (wanted === "unknown") return this.#note(key, undefined, false);
    const [free, taken] = this.#split(wanted?.slices ?? []);
    const { changed, faults, inPlace } = await converge({
      applier: this.#options.slices,
      seen: (slice) => this.#options.own.failoverSlices.seen(slice),
      wanted: free,
      gone: this.#goneOf(key, free),
      // A Service must not be without any between two clusters. Old slices are better than none, unless a new one will never come.
      mayGo: (_slice, { failed, inPlace, isLast }) =>
        failed.length === 0 ||
        inPlace.length > 0 ||
        (isLast && failed.every(({ fault }) => isRefused(fault))),
    });
    const [fault] = faults;
    if (fault === undefined || isLasting(fault)) {
      this.#note(key, wanted && reported(wanted, inPlace, taken, fault), changed);
    }
    if (fault !== undefined) throw fault;
  }

  /** Undefined: the Service does not ask for it. */
  #wanted(key: ObjectKey): FailoverWanted | "unknown" | undefined {
    const { areAllSynced, declared, exported, here, isAllowed, isInRotation, others, own } =
      this.#options;
    const service = own.services.fact(key)?.service;
    const { uid } = service ?? {};
    if (service === undefined || uid === undefined) return "unknown";
    if (!own.takesObjects(namesOf(key).namespace)) return "unknown";
    if (!own.asksForFailover(key)) return undefined;
    if (!isAllowed) return without("failover-forbidden");
    const all = exported(key);
    const { merged, contributions, isSynced } = all;
    const tiers = own.imports.fact(key)?.tiers;
    return failoverOf({
      service: { ...service, uid },
      ...(merged !== undefined && { merged }),
      contributions,
      allSynced: areAllSynced(key, all),
      everySynced: all.allSynced,
      others: others(),
      ...(tiers !== undefined && { tiers }),
      here: here(),
      declared: declared(),
      local: new LocalEndpoints(own.serviceSlices.factsOf(key)),
      present: own.failoverSlices.factsOf(key),
      isSynced,
      isInRotation,
    });
  }

  /** Slices whose names are free or ours, and those whose names other programs use. */
  #split(list: readonly Manifest[]): [Manifest[], Manifest[]] {
    const { failoverSlices, importedSlices, serviceSlices } = this.#options.own;
    const isTaken = (key: string): boolean =>
      !failoverSlices.has(key) && (serviceSlices.has(key) || importedSlices.has(key));
    const { free = [], taken = [] } = Object.groupBy(list, (slice) =>
      isTaken(keyOf(slice)) ? "taken" : "free",
    );
    return [free, taken];
  }

  /** Present slices that are not wanted. */
  #goneOf(key: ObjectKey, wanted: readonly Manifest[]): string[] {
    const names = new Set(wanted.map(keyOf));
    return [...this.#options.own.failoverSlices.keysOf(key)].filter((slice) => !names.has(slice));
  }

  /** Remembers the result. It has an Event if it has changed, or if a new leader finds slices missing or impossible. */
  #note(key: ObjectKey, result: FailoverResult | undefined, hasWritten: boolean): void {
    const { events, own, recorder } = this.#options;
    const before = this.#last.get(key);
    if (result === undefined) this.#last.delete(key);
    else this.#last.set(key, result);
    events.failover(key, result);
    const uid = own.services.fact(key)?.service.uid;
    const event = result && failoverEvent(result);
    if (event === undefined || uid === undefined) return;
    const isNews =
      before === undefined || isQuiet(before)
        ? hasWritten || event.level === "Warning"
        : !isSameResult(before, result);
    if (!isNews || !this.#limit.ration("all").write) return;
    recorder.record(SERVICES, { key, uid }, [event]);
  }
}

/** What is reported, without slices that are not in place. */
function reported(
  { reason }: FailoverWanted,
  inPlace: readonly Manifest[],
  taken: readonly Manifest[],
  fault: unknown,
): FailoverResult {
  const clusters = namesIn(
    inPlace.flatMap(({ metadata }) => metadata.labels?.[LABEL_SOURCE_CLUSTER] ?? []),
  );
  if (fault !== undefined) return { reason: "slice-refused", clusters };
  return { reason: taken.length > 0 ? "slice-foreign" : reason, clusters };
}

/** True for what somebody has to change. */
function isLasting(fault: unknown): boolean {
  const isOthers =
    fault instanceof ApiFault && (fault.reason === "forbidden" || fault.reason === "overwritten");
  return isOthers || isRefused(fault);
}
