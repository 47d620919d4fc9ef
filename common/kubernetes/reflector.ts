import type { Cancel } from "../clock.ts";
import type { LogFields, Logger } from "../log.ts";
import { LimitedLog } from "../log-rate-limit.ts";
import { ApiFault, type FaultReason } from "./api-fault.ts";
import { ListWatch, type ListWatchOptions } from "./list-watch.ts";
import type { ObjectMeta } from "./object-meta.ts";
import type { Wait } from "./recovery.ts";
import type { ReflectorEvents, ReflectorReason, Removal } from "./reflector-events.ts";
import { RetryDelay } from "./retry-delay.ts";

export type { ReflectorEvents, ReflectorReason, ReflectorState } from "./reflector-events.ts";
export type { ResourceQuery } from "./resource.ts";

/** Options of a `Reflector`. */
export interface ReflectorOptions extends Omit<ListWatchOptions, "events" | "signal"> {
  readonly events: ReflectorEvents;
  readonly log: Logger;
}

/** Milliseconds after which a watch counts as healthy, and the backoff is reset. */
const HEALTHY_MS = 10_000;
/** Milliseconds until a second list confirms a mass loss: a starting API server has loaded its objects by then. */
const CONFIRM_MS = 10_000;
/** Milliseconds between two lines about objects that cannot be processed, after a hundred at once. */
const LOG_MS = 60_000;
/** Milliseconds between the first two requests for an optional resource that is not served. */
const NOT_SERVED_RETRY_MS = 1000;
/** Milliseconds between later requests for it: its CRD may be installed at any time. */
const NOT_SERVED_POLL_MS = 30_000;

/** Most milliseconds until objects are reported again for which a handler has room now, doubled each time within the longer one: a tenant can cause it on all nodes. */
const AGAIN_MS = { min: 60_000, max: 600_000 } as const;

const NONE: Wait = { ms: 0, least: 0 };

/** Lists and watches objects of an API server until stopped; recovers from every fault. */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #stop = new AbortController();
  readonly #listWatch: ListWatch;
  readonly #faults = new Map<FaultReason, number>();
  #running: Promise<void> | undefined;
  #listed = false;
  /** According to the last response, an optional resource is not served. */
  #notServed = false;
  #reason: ReflectorReason | undefined;
  readonly #retryDelay: RetryDelay;
  readonly #log: LimitedLog;
  /** When the last watch began; undefined once its duration was evaluated. */
  #watchingSince: number | undefined;
  /** Another client, or a response, showed that the server was restored; until the next list is complete. */
  #wasTold = false;
  #cancelAgain: Cancel | undefined;
  #againMs: number = AGAIN_MS.min;
  #againAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    const { api, clock } = options;
    this.#retryDelay = new RetryDelay(options.random, options.query.isRare);
    this.#log = new LimitedLog(options.log, clock, LOG_MS);
    api.recovery.onRestored(this, () =>
      this.#rewind("Another client found that the server was restored"),
    );
    this.#listWatch = new ListWatch({
      ...options,
      signal: this.#stop.signal,
      events: {
        changed: (key, object, at) => this.#emit((to) => to.changed(key, object, at), key),
        removed: (key, at, how) => void this.#emit((to) => to.removed(key, at, how), key),
        listing: () => this.#setState("listing"),
        listed: () => this.#complete(),
        leavesOut: (owner, isTrue) => this.#reportLeftOut(owner, isTrue),
        room: () => this.again([]),
        watching: () => {
          this.#watchingSince = clock.now();
          api.recovery.succeeded(this);
          this.#setState("watching");
        },
      },
    });
  }

  /** Number of faults, by reason. */
  get faults(): ReadonlyMap<FaultReason, number> {
    return this.#faults;
  }

  /** Starts; returns immediately. Call it once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Reports the object of a response to a write, and no older state later, so that no reconcile uses a state before it. */
  wrote(object: unknown): void {
    this.#listWatch.wrote(object);
  }

  /** Reports an object of another list that this one lacks, unless a later state is known. */
  found(object: unknown): void {
    this.#listWatch.found(object);
  }

  /** Reports the deletion of an object that a response shows, unless a later state is known. */
  erased(meta: ObjectMeta, how: Removal): void {
    this.#listWatch.erased(meta, how);
  }

  /** A response shows that the server was restored from a backup: relists and reports all objects again. */
  rewound(): void {
    this.#rewind("A response shows that the server was restored");
    this.#options.api.recovery.restored(this);
  }

  /**
   * Reports these objects again, with a list in about a minute, later if this is often so, or with an earlier one: a handler has room for them now. All nodes may call this at the same
   * time, so the time is random.
   */
  again(keys: Iterable<string>): void {
    const { clock, random } = this.#options;
    this.#listWatch.undelivered(keys);
    if (this.#cancelAgain !== undefined) return;
    const isOften = clock.now() - this.#againAt < AGAIN_MS.max;
    this.#againMs = isOften ? Math.min(AGAIN_MS.max, 2 * this.#againMs) : AGAIN_MS.min;
    this.#cancelAgain = clock.after(this.#againMs * (0.5 + random() / 2), () => {
      this.#cancelAgain = undefined;
      this.#againAt = clock.now();
      if (this.#reason === "watching") this.#listWatch.endWatch();
      else this.again([]);
    });
  }

  /** Stops. No event follows the call. */
  async stop(): Promise<void> {
    this.#cancelAgain?.();
    this.#stop.abort();
    await this.#running;
    this.#options.api.recovery.forget(this);
  }

  /** Forgets versions, so the list that follows shows no restore: it is reported before. */
  #rewind(detail: string): void {
    this.#wasTold = true;
    this.#listWatch.rewound();
    this.#setState("rewound", detail);
  }

  async #run(): Promise<void> {
    const { api, clock, random } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let wait: Wait;
      try {
        wait = this.#afterEnd(await this.#listWatch.round());
      } catch (thrown) {
        if (signal.aborted) return;
        wait = this.#afterFault(this.#faultOf(thrown));
      }
      await api.recovery.wait(wait, { clock, random, signal });
    }
  }

  /** The wait after a successful round. */
  #afterEnd(end: "closed" | "doubtful"): Wait {
    if (end === "doubtful") {
      this.#setState("doubtful");
      return { ms: CONFIRM_MS, least: CONFIRM_MS };
    }
    return this.#resetIfHealthy() ? NONE : this.#retryDelay.afterEarlyEnd();
  }

  /** The wait after a failed round. */
  #afterFault(fault: ApiFault): Wait {
    this.#faults.set(fault.reason, (this.#faults.get(fault.reason) ?? 0) + 1);
    const wasWatching = this.#watchingSince !== undefined;
    const quiet = fault.reason === "stalled" && wasWatching;
    const wasCutOff = wasWatching && !this.#resetIfHealthy();
    // The next round shows whether the server is healthy.
    if (quiet) return NONE;
    const { recovery } = this.#options.api;
    const isProbe = recovery.failedAndWaits(this, fault.reason);
    if (fault.reason === "rewound" && !this.#wasTold) recovery.restored(this);
    this.#setState(fault.reason, fault.message);
    const wait = this.#retryDelay.afterFault(fault, isProbe, wasCutOff);
    const notServed = fault.reason === "not-served" && this.#options.query.optional === true;
    const again = notServed && this.#notServed;
    this.#notServed = notServed;
    if (!notServed) return wait;
    if (!this.#listed && !again) return { ms: NOT_SERVED_RETRY_MS, least: NOT_SERVED_RETRY_MS };
    this.#complete();
    return { ms: NOT_SERVED_POLL_MS, least: NOT_SERVED_RETRY_MS };
  }

  /** An ApiFault as it is. Anything else is an internal error: logged with its stack, and followed by a relist. */
  #faultOf(thrown: unknown): ApiFault {
    if (thrown instanceof ApiFault) return thrown;
    this.#logError("Failed to process a response of the API server", { error: thrown });
    return new ApiFault("garbage", String(thrown), { cause: thrown });
  }

  /** Resets the backoff if the last watch was healthy; returns whether it was. */
  #resetIfHealthy(): boolean {
    const since = this.#watchingSince;
    this.#watchingSince = undefined;
    const healthy = since !== undefined && this.#options.clock.now() - since >= HEALTHY_MS;
    if (healthy) this.#retryDelay.reset();
    return healthy;
  }

  #complete(): void {
    this.#notServed = false;
    this.#wasTold = false;
    if (this.#listed) return;
    this.#listed = true;
    this.#emit((to) => to.listed());
  }

  #setState(reason: ReflectorReason, detail?: string): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#emit((to) => to.state({ reason, ...(detail !== undefined && { detail }) }));
  }

  /** Calls an event handler unless stopped; false if it threw. */
  #emit(emit: (to: ReflectorEvents) => void, object?: string): boolean {
    if (this.#stop.signal.aborted) return true;
    try {
      emit(this.#options.events);
      return true;
    } catch (error) {
      this.#logError("Failed to process an object of the API server", {
        ...(object !== undefined && { object }),
        error,
      });
      return false;
    }
  }

  /** Counts as a fault, although everything else is followed. */
  #reportLeftOut(namespace: string, isTrue: boolean): void {
    const reason = "too-many-objects";
    const { resource } = this.#options.query;
    if (isTrue) this.#faults.set(reason, (this.#faults.get(reason) ?? 0) + 1);
    const message = isTrue
      ? "Objects of a namespace left out"
      : "No object of the namespace left out any more";
    const level = isTrue ? "warn" : "info";
    this.#log.write(`${resource} ${reason}`, {
      level,
      message,
      fields: { resource, namespace, reason },
    });
  }

  #logError(message: string, fields: LogFields): void {
    const { group, resource } = this.#options.query;
    const name = group === "" ? resource : `${resource}.${group}`;
    this.#log.write(name, { level: "error", message, fields: { resource: name, ...fields } });
  }
}
