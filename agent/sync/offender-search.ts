import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { Programmed } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { bisect } from "./bisect.ts";
import type { DesiredState } from "./desired-state.ts";
import { type Quarantine, refOf, type ServiceRef, withoutAffinity } from "./quarantine.ts";

/** Attempts of one bisection that may be rejected. Each costs a transaction and a read of everything. */
const MOST_REJECTED = 64;
/** Milliseconds after which a bisection makes no further attempt: other changes wait for its end. */
const LONGEST_SEARCH = 30_000;

/** What a search needs. */
export interface OffenderSearchOptions {
  readonly clock: Pick<Clock, "now">;
  readonly desired: DesiredState;
  readonly quarantine: Quarantine;
  /** Writes these imports in addition to the accepted ones, or everything again. Rejects if the kernel does. */
  readonly write: (keys: Iterable<ObjectKey> | "all") => Promise<void>;
  /** True for an import that changed since it was written: a rejection proves nothing about its services. */
  readonly changed: (key: ObjectKey) => boolean;
  /** An attempt was made. */
  readonly tried: (accepted: boolean) => void;
}

/** One import's services during a search. */
export interface Searched {
  readonly live: readonly VirtualService[];
  /** Those under suspicion that have rules: the kernel keeps these. */
  readonly kept: readonly VirtualService[];
  /** False if a service is under suspicion. */
  readonly whole: boolean;
}

/** A service that may be the reason for a rejection. */
interface Suspect extends ServiceRef {
  /** True if it has session affinity. */
  readonly affine: boolean;
}

/** True if the kernel, or its tool, read the transaction and rejected it. */
export function isRejected(error: unknown): boolean {
  return error instanceof CodedError && error.rejected;
}

/**
 * Finds the services for which the kernel rejected a transaction, and quarantines them, within one pass:
 *
 * 1. Everything is written but the suspects, which keep their existing rules: those that changed, or else all services.
 *    If that is rejected, too, no service is at fault.
 * 2. All suspects are written. If that is accepted, another program's change was at fault, which the read has mended.
 * 3. The suspects are written without session affinity, and bisected if that is rejected.
 * 4. The others are written with their affinity; if that is rejected, the node does not support it.
 *
 * Suspects that the bisection leaves undecided keep their existing rules, and are searched on after the next complete pass.
 */
export class OffenderSearch {
  readonly #options: OffenderSearchOptions;
  readonly #held = new Map<ObjectKey, Set<string>>();
  readonly #withoutAffinity = new Set<ObjectKey>();
  /** Imports whose last attempt was rejected: the next write takes them back. */
  #undo: readonly ObjectKey[] = [];
  #error: unknown;
  #running = false;

  constructor(options: OffenderSearchOptions) {
    this.#options = options;
  }

  /** What may be written of one import's services now. */
  sift(key: ObjectKey, services: readonly VirtualService[], programmed: Programmed): Searched {
    if (!this.#running && !this.#held.has(key)) return { live: services, kept: [], whole: true };
    const plain = this.#withoutAffinity.has(key);
    // An import that has just changed may hold another offender: it waits for the next pass.
    const changed = this.#running && this.#options.changed(key);
    const isHeld = (service: VirtualService) => changed || this.#isHeld(refOf(service));
    const live = services.filter((service) => !isHeld(service));
    return {
      live: plain ? live.map(withoutAffinity) : live,
      kept: services.filter((service) => isHeld(service) && programmed.has(service)),
      whole: live.length === services.length,
    };
  }

  /** True if suspects are undecided. */
  get unfinished(): boolean {
    return this.#held.size > 0;
  }

  /** Releases the undecided suspects: returns their imports, to be written again. */
  resume(): ObjectKey[] {
    const keys = [...this.#held.keys()];
    this.#held.clear();
    return keys;
  }

  /** Returns false if no service is at fault. `changed`: the imports that changed since the kernel last accepted all. */
  async run(changed: ReadonlySet<ObjectKey>): Promise<boolean> {
    let undecided: readonly Suspect[] = [];
    this.#running = true;
    try {
      const suspects = await this.#suspects(new Set([...changed, ...this.resume()]));
      if (suspects === undefined) return false;
      if (!(await this.#accepts(suspects))) undecided = await this.#search(suspects);
      return true;
    } finally {
      this.#running = false;
      this.#held.clear();
      this.#hold(undecided);
      this.#withoutAffinity.clear();
      this.#undo = [];
    }
  }

  /** The suspects without which the kernel accepts everything; undefined if it accepts nothing. */
  async #suspects(changed: ReadonlySet<ObjectKey>): Promise<Suspect[] | undefined> {
    const { desired } = this.#options;
    for (const keys of changed.size === 0 ? [desired.keys()] : [changed, desired.keys()]) {
      const suspects = [...keys].flatMap((key) => this.#admitted(key).map(suspectOf));
      this.#hold(suspects);
      if (await this.#attempt("all")) return suspects;
    }
    return undefined;
  }

  /** Returns the suspects that it leaves undecided. */
  async #search(suspects: readonly Suspect[]): Promise<readonly Suspect[]> {
    let undecided: readonly Suspect[] = [];
    const affine = suspects.filter((suspect) => suspect.affine);
    for (const { key } of affine) this.#withoutAffinity.add(key);
    if (affine.length === 0 || !(await this.#accepts(suspects))) {
      const accepts = (some: readonly Suspect[]) => this.#accepts(some);
      const until = this.#options.clock.now() + LONGEST_SEARCH;
      const mayTry = (rejections: number) =>
        rejections < MOST_REJECTED && this.#options.clock.now() < until;
      const found = await bisect(suspects, accepts, mayTry);
      for (const suspect of found.offenders) this.#blame(suspect, "refused-by-kernel");
      undecided = found.undecided;
    }
    this.#withoutAffinity.clear();
    const rest = affine.filter((suspect) => !this.#isHeld(suspect));
    if (rest.length > 0 && !(await this.#accepts(rest))) {
      for (const suspect of rest) this.#blame(suspect, "affinity-unsupported");
    }
    return undecided;
  }

  #blame({ key, port }: Suspect, reason: "refused-by-kernel" | "affinity-unsupported"): void {
    const { quarantine, changed } = this.#options;
    const service = this.#admitted(key).find((one) => refOf(one).port === port);
    if (service !== undefined && !changed(key)) quarantine.put(service, reason, this.#error);
  }

  /** Writes some suspects on top of what was accepted; they are held again if the kernel rejects them. */
  async #accepts(some: readonly Suspect[]): Promise<boolean> {
    const keys = [...new Set(some.map(({ key }) => key))];
    for (const { key, port } of some) this.#held.get(key)?.delete(port);
    const accepted = await this.#attempt(new Set([...this.#undo, ...keys]));
    this.#undo = accepted ? [] : keys;
    if (!accepted) this.#hold(some);
    return accepted;
  }

  async #attempt(keys: Iterable<ObjectKey> | "all"): Promise<boolean> {
    const { write, tried } = this.#options;
    try {
      await write(keys);
      tried(true);
      return true;
    } catch (error) {
      if (!isRejected(error)) throw error;
      this.#error = error;
      tried(false);
      return false;
    }
  }

  #admitted(key: ObjectKey): readonly VirtualService[] {
    return this.#options.quarantine.admit(key, this.#options.desired.services(key).services);
  }

  #hold(suspects: readonly Suspect[]): void {
    for (const { key, port } of suspects) {
      this.#held.set(key, (this.#held.get(key) ?? new Set()).add(port));
    }
  }

  #isHeld({ key, port }: ServiceRef): boolean {
    return this.#held.get(key)?.has(port) === true;
  }
}

function suspectOf(service: VirtualService): Suspect {
  return { ...refOf(service), affine: service.affinitySeconds !== undefined };
}
