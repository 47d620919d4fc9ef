import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { SliceFact } from "../model/facts.ts";
import {
  type EndpointSets,
  isMassUnreadiness,
  lostMost,
  type MassUnreadiness,
  readyAmong,
  sizeOf,
  turnedUnready,
  withHeld,
} from "./mass-unreadiness.ts";

/**
 * Milliseconds after contact was regained in which unreadiness is unreliable. A control plane that returns reports
 * all endpoints unready for about ten seconds.
 */
export const WINDOW_MS = 30_000;
/** Milliseconds for which one endpoint is held back alone. */
export const PATIENCE_MS = 2_000;

/** Dependencies of a `ReadinessHold`. */
export interface ReadinessHoldOptions extends ReadinessHoldEvents {
  readonly clock: Clock;
  /** Services that have slices. */
  readonly services: () => Iterable<ObjectKey>;
  readonly slicesOf: (service: ObjectKey) => Iterable<SliceFact>;
  readonly isHeadless: (service: ObjectKey) => boolean;
}

/** What a `ReadinessHold` reports. */
export interface ReadinessHoldEvents {
  /** `published` has changed for slices of these Services. */
  changed(services: readonly ObjectKey[]): void;
  /** Endpoints became unready together and are held back. Once until `released`. */
  held(unreadiness: MassUnreadiness): void;
  /** All are ready again or gone, or the window is over. */
  released(unreadiness: MassUnreadiness): void;
}

/**
 * Holds back unreadiness after an outage of the control plane: for 30 s after contact is regained, and only for
 * listed endpoints that were ready before and do not terminate. Such an endpoint is published as `ready: false,
 * serving: true` for two seconds; if four fifths of all, in two Services or more, or of each of two Services have become unready by then, until
 * the 30 s are over or all have recovered. One headless Service is enough for its own: its names must not disappear.
 *
 * No state survives a restart: `begin` derives what was ready from the published slices, and also opens a window.
 */
export class ReadinessHold {
  readonly #options: ReadinessHoldOptions;
  #isLost = false;
  /** Ready endpoints when contact was lost; undefined outside an outage and its window. */
  #before: Map<ObjectKey, ReadonlySet<string>> | undefined;
  /** End of the window; undefined: not open yet. */
  #end: number | undefined;
  #isMass = false;
  /** The endpoints of `#before` that are unready, and since when. */
  readonly #turned = new Map<ObjectKey, Map<string, number>>();
  #endpoints = 0;
  /** Services that lost nearly all of `#before`. */
  readonly #lost = new Set<ObjectKey>();
  /** Services whose endpoints are held back alone, oldest first. */
  #waiting: { readonly service: ObjectKey; readonly until: number }[] = [];
  #cancel: Cancel = () => undefined;
  #isStopped = false;

  constructor(options: ReadinessHoldOptions) {
    this.#options = options;
  }

  /**
   * Publication begins, after a start or an election. `before`: from `publishedAsReady`. Opens a window; contact may
   * still be lost.
   */
  begin(before: EndpointSets): void {
    for (const [service, addresses] of before) this.#addBefore(service, addresses);
    this.#before ??= new Map();
    this.#open();
    for (const service of this.#before.keys()) this.serviceChanged(service);
  }

  /** Contact was lost. */
  lost(): void {
    this.#isLost = true;
    this.#remember();
  }

  /** Contact was regained; opens the window. */
  regained(): void {
    this.#isLost = false;
    if (this.#before !== undefined) this.#open();
  }

  /** The slices of a Service have changed. */
  serviceChanged(service: ObjectKey): void {
    const before = this.#before?.get(service);
    if (before === undefined) return;
    const { clock, slicesOf } = this.#options;
    const now = clock.now();
    const known = this.#turned.get(service);
    const turned = new Map<string, number>();
    let joined = false;
    for (const address of turnedUnready(before, slicesOf(service))) {
      const since = known?.get(address);
      turned.set(address, since ?? now);
      joined ||= since === undefined;
    }
    this.#endpoints += turned.size - (known?.size ?? 0);
    if (turned.size > 0) this.#turned.set(service, turned);
    else this.#turned.delete(service);
    if (lostMost(turned.size, before.size)) this.#lost.add(service);
    else this.#lost.delete(service);
    if (this.#isMass && this.#endpoints === 0) this.#release();
    if (joined) this.#holdBack(service, now);
  }

  /** The slice to publish now; the same object if nothing is held back. */
  published(slice: SliceFact): SliceFact {
    const turned = this.#turned.get(slice.service);
    if (turned === undefined || this.#end === undefined) return slice;
    const now = this.#options.clock.now();
    if (now >= this.#end) return slice;
    const isLost = this.#isLostAlone(slice.service);
    return withHeld(slice, (address) => {
      const since = turned.get(address);
      return (isLost && since !== undefined) || this.#isHeld(since, now);
    });
  }

  /** Number of endpoints held back together. */
  get heldBack(): number {
    if (this.#isMass) return this.#endpoints;
    const alone = [...this.#lost].filter((service) => this.#isLostAlone(service));
    return alone.reduce((sum, service) => sum + (this.#turned.get(service)?.size ?? 0), 0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** True for a headless Service whose endpoints are held back for the window, whatever becomes of others. */
  #isLostAlone(service: ObjectKey): boolean {
    return this.#lost.has(service) && this.#options.isHeadless(service);
  }

  #isHeld(since: number | undefined, now: number): boolean {
    return since !== undefined && (this.#isMass || now - since < PATIENCE_MS);
  }

  /** Adds to what is remembered, so that a second loss within the window does not count unready endpoints as normal. */
  #remember(): void {
    const { services, slicesOf } = this.#options;
    this.#before ??= new Map();
    for (const service of services()) this.#addBefore(service, readyAmong(slicesOf(service)));
  }

  #addBefore(service: ObjectKey, addresses: ReadonlySet<string>): void {
    if (addresses.size === 0) return;
    this.#before ??= new Map();
    this.#before.set(service, new Set([...(this.#before.get(service) ?? []), ...addresses]));
  }

  #open(): void {
    this.#end = this.#options.clock.now() + WINDOW_MS;
    this.#wait();
  }

  #holdBack(service: ObjectKey, now: number): void {
    // An update shows contact, even before it was reported.
    this.#end ??= now + WINDOW_MS;
    if (!this.#isMass) {
      this.#waiting.push({ service, until: now + PATIENCE_MS });
      const unreadiness = this.#unreadiness();
      if (isMassUnreadiness(unreadiness)) {
        this.#isMass = true;
        this.#waiting = [];
        this.#options.held(unreadiness);
        this.#options.changed([...this.#turned.keys()]);
      }
    }
    this.#wait();
  }

  /** Waits for the end of the window, or of the first two seconds. */
  #wait(): void {
    const { clock } = this.#options;
    this.#cancel();
    if (this.#isStopped) return;
    const due = Math.min(
      this.#end ?? Number.POSITIVE_INFINITY,
      this.#waiting[0]?.until ?? Number.POSITIVE_INFINITY,
    );
    this.#cancel = clock.after(Math.max(due - clock.now(), 0), () => this.#check());
  }

  #check(): void {
    const now = this.#options.clock.now();
    if (this.#end !== undefined && now >= this.#end) {
      this.#close();
      return;
    }
    const over = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.slice(over.length);
    this.#wait();
    const services = [...new Set(over.map(({ service }) => service))];
    if (services.length > 0) this.#options.changed(services);
  }

  /** Ends the window. */
  #close(): void {
    const services = [...this.#turned.keys()];
    if (this.#isMass) this.#release();
    this.#before = undefined;
    this.#end = undefined;
    this.#turned.clear();
    this.#lost.clear();
    this.#endpoints = 0;
    this.#waiting = [];
    if (this.#isLost) this.#remember();
    if (services.length > 0) this.#options.changed(services);
  }

  #release(): void {
    this.#isMass = false;
    this.#options.released(this.#unreadiness());
  }

  #unreadiness(): MassUnreadiness {
    const before = sizeOf(this.#before ?? new Map());
    const services = this.#turned.size;
    return { endpoints: this.#endpoints, services, lost: this.#lost.size, before };
  }
}
