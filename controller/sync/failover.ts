import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { SERVICES } from "../../common/kubernetes/kinds.ts";
import { LogRateLimit } from "../../common/log-rate-limit.ts";
import { failoverEvent, isQuiet } from "../failover/failover-event.ts";
import {
  type FailoverInput,
  type FailoverWanted,
  failoverOf,
  without,
} from "../failover/failover-of.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ExportedService } from "./exported-service.ts";
import { inParallel } from "./in-parallel.ts";

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
  readonly events: Pick<Observer, "failover">;
}

/**
 * Writes failover slices: endpoints of other clusters, listed for a Service of this cluster that asks for it. A proxy such as kube-proxy
 * uses them while the Service has no ready endpoint, and needs no controller for that.
 */
export class Failover {
  readonly #options: FailoverOptions;
  readonly #limit: LogRateLimit;
  readonly #last = new Map<ObjectKey, FailoverWanted>();

  constructor(options: FailoverOptions) {
    this.#options = options;
    this.#limit = new LogRateLimit(options.clock, REFILL_MS, BURST);
  }

  /** Services that ask for it, and those that have slices. */
  *names(): Iterable<ObjectKey> {
    const { own } = this.#options;
    for (const { service } of own.services.facts()) {
      if (own.asksForFailover(service.key)) yield service.key;
    }
    for (const key of own.failoverSlices.groups()) if (!own.asksForFailover(key)) yield key;
  }

  /** True if a reconcile of this name can change anything. */
  concerns(key: ObjectKey): boolean {
    const { own } = this.#options;
    const hasSlices = [...own.failoverSlices.keysOf(key)].length > 0;
    return own.asksForFailover(key) || hasSlices || this.#last.has(key);
  }

  /** What each Service was last reconciled to. */
  get results(): ReadonlyMap<ObjectKey, FailoverWanted> {
    return this.#last;
  }

  /** Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { own, slices } = this.#options;
    const wanted = this.#wanted(key);
    // Kubernetes deletes what a Service owns, and the content of a namespace. Both may also only be missing in a list.
    if (wanted === "unknown") return this.#note(key, undefined, false);
    const list = wanted?.slices ?? [];
    if (list === "keep") return this.#note(key, wanted, false);
    const [free, taken] = this.#split(list);
    let hasWritten = false;
    // New slices before old ones go: a Service must not be without any between two clusters.
    await inParallel(free, async (slice) => {
      if (await slices.apply(slice, own.failoverSlices.seen(keyOf(slice)))) hasWritten = true;
    });
    await this.#removeAllBut(key, new Set(free.map(keyOf)));
    const isForeign = wanted !== undefined && taken.length > 0;
    const result = isForeign ? { ...wanted, reason: "slice-foreign" as const } : wanted;
    this.#note(key, result, hasWritten);
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
      present: own.failoverSlices.factsOf(key).flatMap(({ cluster }) => cluster ?? []),
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

  async #removeAllBut(key: ObjectKey, kept: ReadonlySet<string>): Promise<void> {
    const { own, slices } = this.#options;
    const gone = [...own.failoverSlices.keysOf(key)].filter((slice) => !kept.has(slice));
    await inParallel(gone, async (slice) => {
      const seen = own.failoverSlices.seen(slice);
      if (seen !== undefined) await slices.remove(seen);
    });
  }

  /** Remembers the result. It has an Event if it has changed, or if a new leader finds slices missing or impossible. */
  #note(key: ObjectKey, result: FailoverWanted | undefined, hasWritten: boolean): void {
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
        : before.reason !== result?.reason;
    if (!isNews || !this.#limit.ration("all").write) return;
    recorder.record(SERVICES, { key, uid }, [event]);
  }
}

function keyOf({ metadata: { namespace = "", name } }: Manifest): string {
  return `${namespace}/${name}`;
}
