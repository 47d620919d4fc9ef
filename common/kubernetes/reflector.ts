import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ApiFault, type FaultReason } from "./api-fault.ts";
import type { ApiServer } from "./api-server.ts";
import { ListWatch } from "./list-watch.ts";
import type { ObjectMeta } from "./object-meta.ts";
import { Patience } from "./patience.ts";
import type { Wait } from "./recovery.ts";
import type { ReflectorEvents, ReflectorReason, Removal } from "./reflector-events.ts";
import type { ResourceQuery } from "./resource-query.ts";

export type { ReflectorEvents, ReflectorReason, ReflectorState } from "./reflector-events.ts";
export type { ResourceQuery } from "./resource-query.ts";

/** What a reflector is made of. */
export interface ReflectorOptions {
  readonly api: ApiServer;
  readonly query: ResourceQuery;
  readonly events: ReflectorEvents;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Hears of events that were not taken. */
  readonly log: Logger;
  /**
   * Keys of objects that were known before this process began, by what it had left behind. What the first list misses
   * of them is told as removed, under the same doubts as what a later list misses. Absent: none.
   */
  readonly known?: Iterable<string>;
}

/** Milliseconds after which a watch was a success, and failures before it are forgotten. */
const SETTLED_MS = 10_000;
/**
 * Milliseconds until a list that would take away most objects is looked at again: an API server that starts has
 * loaded its objects by then.
 */
const SECOND_LOOK_MS = 10_000;
/** Milliseconds between the two looks that find an optional kind missing at the start. */
const MISSING_AGAIN_MS = 1000;
/** Milliseconds between later looks for it: a CRD may be installed at any time. */
const OPTIONAL_AGAIN_MS = 30_000;

const NONE: Wait = { ms: 0, least: 0 };

/** Lists objects of an API server and follows their changes, through every fault, until it is stopped. */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #stop = new AbortController();
  readonly #listWatch: ListWatch;
  readonly #faults = new Map<FaultReason, number>();
  #running: Promise<void> | undefined;
  #listed = false;
  /** An optional kind was found missing by the last look. */
  #missing = false;
  #reason: ReflectorReason | undefined;
  readonly #patience: Patience;
  /** When the last watch began; undefined once that has been reckoned with. */
  #watchingSince: number | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    const { api, query, clock, random, known } = options;
    this.#patience = new Patience(random);
    this.#listWatch = new ListWatch({
      ...(known !== undefined && { known }),
      api,
      query,
      clock,
      random,
      signal: this.#stop.signal,
      events: {
        changed: (key, object, at) => this.#tell((to) => to.changed(key, object, at), key),
        removed: (key, at, how) => void this.#tell((to) => to.removed(key, at, how), key),
        listing: () => this.#be("listing"),
        listed: () => this.#complete(),
        watching: () => {
          this.#watchingSince = clock.now();
          api.recovery.succeeded(this);
          this.#be("watching");
        },
      },
    });
  }

  /** How often each fault has been met. */
  get faults(): ReadonlyMap<FaultReason, number> {
    return this.#faults;
  }

  /** Starts; returns at once. Once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * What a write of ours was answered with: the object as it is now. It is told at once, and no older state of it is told
   * after it: who decides by what was told never decides by what was before his own write.
   */
  wrote(object: unknown): void {
    this.#listWatch.wrote(object);
  }

  /** An object that our list lacks, as another list shows it. It is told at once, unless a later state of it is known. */
  found(object: unknown): void {
    this.#listWatch.found(object);
  }

  /** An object is gone, as the answer to a request of ours shows. Told at once, unless a later state is known. */
  erased(meta: ObjectMeta, how: Removal): void {
    this.#listWatch.erased(meta, how);
  }

  /** The server is older than it was, as the answer to a request of ours shows. All is listed anew, and told again. */
  rewound(): void {
    this.#listWatch.rewound();
  }

  /** Ends everything. No event comes after the call, whatever is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#options.api.recovery.forget(this);
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

  /** What is waited after a round that went well. */
  #afterEnd(end: "closed" | "doubtful"): Wait {
    if (end === "doubtful") {
      this.#be("doubtful");
      return { ms: SECOND_LOOK_MS, least: SECOND_LOOK_MS };
    }
    return this.#settle() ? NONE : this.#patience.afterEarlyEnd();
  }

  /** What is waited after a round that failed. */
  #afterFault(fault: ApiFault): Wait {
    this.#faults.set(fault.reason, (this.#faults.get(fault.reason) ?? 0) + 1);
    const wasWatching = this.#watchingSince !== undefined;
    const quiet = fault.reason === "stalled" && wasWatching;
    const wasCutOff = wasWatching && !this.#settle();
    // The next round looks whether the server is well; that alone says whether anything is wrong.
    if (quiet) return NONE;
    const { recovery } = this.#options.api;
    const isScout = recovery.gaveUp(this, fault.reason);
    this.#be(fault.reason, fault.message);
    const wait = this.#patience.afterFault(fault, isScout, wasCutOff);
    const missing = fault.reason === "not-served" && this.#options.query.optional === true;
    const again = missing && this.#missing;
    this.#missing = missing;
    if (!missing) return wait;
    if (!this.#listed && !again) return { ms: MISSING_AGAIN_MS, least: MISSING_AGAIN_MS };
    this.#complete();
    return { ms: OPTIONAL_AGAIN_MS, least: MISSING_AGAIN_MS };
  }

  /** A fault as it is. Anything else is a mistake of ours: the log has its stack, and a new list may get past it. */
  #faultOf(thrown: unknown): ApiFault {
    if (thrown instanceof ApiFault) return thrown;
    this.#options.log.error("An answer of the API server was not understood.", { error: thrown });
    return new ApiFault("garbage", String(thrown), { cause: thrown });
  }

  /** Forgets failures if the last watch was a success; says whether it was. */
  #settle(): boolean {
    const since = this.#watchingSince;
    this.#watchingSince = undefined;
    const settled = since !== undefined && this.#options.clock.now() - since >= SETTLED_MS;
    if (settled) this.#patience.forget();
    return settled;
  }

  #complete(): void {
    this.#missing = false;
    if (this.#listed) return;
    this.#listed = true;
    this.#tell((to) => to.listed());
  }

  #be(reason: ReflectorReason, detail?: string): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#tell((to) => to.state({ reason, ...(detail !== undefined && { detail }) }));
  }

  /** Tells, unless it is stopped; false if that was not taken. */
  #tell(tell: (to: ReflectorEvents) => void, object?: string): boolean {
    if (this.#stop.signal.aborted) return true;
    try {
      tell(this.#options.events);
      return true;
    } catch (error) {
      const { group, resource } = this.#options.query;
      this.#options.log.error("An object of the API server was not taken.", {
        ...(object !== undefined && { object }),
        resource: group === "" ? resource : `${resource}.${group}`,
        error,
      });
      return false;
    }
  }
}
