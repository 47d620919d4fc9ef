import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { LogRateLimit } from "../../common/log-rate-limit.ts";
import type { Nearest } from "../import/nearest.ts";
import { directionOf, nearestEvent } from "../import/nearest-event.ts";
import type { Seen } from "../stores/fact-store.ts";
import type { EventRecorder } from "./event-recorder.ts";

/** Events of all imports at once, and milliseconds for one more: a cluster that fails moves thousands of imports. */
const BURST = 100;
const REFILL_MS = 1000;

/**
 * Events of ServiceImports whose nearest ready endpoints move. The leader creates them, from what it has seen itself: what moves
 * while no replica leads, or before the first reconcile of a leader, has none.
 */
export class NearestEvents {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #all: LogRateLimit;
  readonly #last = new Map<ObjectKey, Nearest>();

  constructor(recorder: Pick<EventRecorder, "record">, clock: Pick<Clock, "now">) {
    this.#recorder = recorder;
    this.#all = new LogRateLimit(clock, REFILL_MS, BURST);
  }

  /** An import was reconciled. `object`, `nearest`: absent if there is no import, or if no cluster exports it. */
  observe(key: ObjectKey, object: Seen | undefined, nearest: Nearest | undefined): void {
    const before = this.#last.get(key);
    if (object === undefined || nearest === undefined) {
      this.#last.delete(key);
      return;
    }
    this.#last.set(key, nearest);
    const direction = before && directionOf(before, nearest);
    // A cluster that begins to export, or whose registry is listed only now, is no return.
    const isNew = !nearest.clusters.some((cluster) => before?.exporters.includes(cluster));
    if (direction === "back" && isNew) return;
    if (direction === undefined || !this.#all.ration("all").write) return;
    this.#recorder.record(SERVICE_IMPORTS, object, [nearestEvent(nearest, direction)]);
  }

  /** Another replica leads, or may: what is known is old. */
  forget(): void {
    this.#last.clear();
  }
}
