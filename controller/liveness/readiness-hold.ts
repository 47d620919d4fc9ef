import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { SliceFact } from "../model/facts.ts";
import {
  type Drop,
  type EndpointSets,
  isCollective,
  readyAmong,
  sizeOf,
  turnedUnready,
  withHeld,
} from "./collective-drop.ts";

/**
 * Milliseconds after contact was regained in which readiness is looked at twice. A control plane that comes back after
 * a minute reports all endpoints unready for some ten seconds.
 */
export const WINDOW_MS = 30_000;
/** Milliseconds that one endpoint's drop waits to be joined by others. */
export const PATIENCE_MS = 2_000;

/** What a `ReadinessHold` is made of. */
export interface ReadinessHoldOptions {
  readonly clock: Clock;
  /** Services of this cluster that have slices. */
  readonly services: () => Iterable<ObjectKey>;
  /** Slices of one of them as they are now. */
  readonly slicesOf: (service: ObjectKey) => Iterable<SliceFact>;
  readonly events: ReadinessHoldEvents;
}

/** Who hears of endpoints that are held back. */
export interface ReadinessHoldEvents {
  /** `published` says something else of slices of these Services than before, though they have not changed. */
  changed(services: readonly ObjectKey[]): void;
  /** Endpoints turned unready together, and are held back. Once until `believed`. */
  held(drop: Drop): void;
  /** All of them are ready again or gone, or the window is over: the truth is published. */
  believed(drop: Drop): void;
}

/**
 * Keeps a cluster whose control plane returns from saying that all its endpoints died. Only in the 30 s after contact
 * was regained, and only of endpoints that were ready before it was lost, are still listed, and do not terminate:
 * one that turns unready is published as `ready: false, serving: true` for two seconds; if four fifths of all have
 * turned by then, in two Services or more, for the rest of the 30 s, or until none of them is left: who turns unready
 * after that does it for a reason of its own. `ready` is always the truth. Everything else is what it is, at once.
 *
 * There is nothing to remember over a restart: `begin` takes what was ready from what was published, and a start opens
 * a window, too. At worst a drop is held back for 30 s more.
 */
export class ReadinessHold {
  readonly #options: ReadinessHoldOptions;
  #isLost = false;
  /** What was ready when contact was lost; undefined: it was not, or the window is over. */
  #before: Map<ObjectKey, ReadonlySet<string>> | undefined;
  /** When the window ends; undefined: nothing is heard yet that could have to be held back. */
  #end: number | undefined;
  #collective = false;
  /** Who of `#before` is unready now, and since when. */
  readonly #turned = new Map<ObjectKey, Map<string, number>>();
  /** Endpoints of `#turned`. */
  #endpoints = 0;
  /** Services with drops that wait to be joined by others, first come first. */
  #waiting: { readonly service: ObjectKey; readonly until: number }[] = [];
  #cancel: Cancel = () => undefined;
  #isStopped = false;

  constructor(options: ReadinessHoldOptions) {
    this.#options = options;
  }

  /**
   * Whenever slices are published from now on, after a start or as a new leader: `before` is what `publishedAsReady`
   * makes of own records. It opens a window, and says nothing about contact: that may still be lost.
   */
  begin(before: EndpointSets): void {
    for (const [service, addresses] of before) this.#addBefore(service, addresses);
    this.#before ??= new Map();
    this.#open();
    for (const service of this.#before.keys()) this.serviceChanged(service);
  }

  /** Contact was lost. What is ready now is what was ready. */
  lost(): void {
    this.#isLost = true;
    this.#remember();
  }

  /** Contact was regained: the window is 30 s from now. */
  regained(): void {
    this.#isLost = false;
    if (this.#before !== undefined) this.#open();
  }

  /** The slices of a Service are others than before, as `slicesOf` tells. */
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
    if (this.#collective && this.#endpoints === 0) this.#believe();
    if (joined) this.#join(service, now);
  }

  /** A slice as it is to be published now: the very same, unless one of its endpoints is held back. */
  published(slice: SliceFact): SliceFact {
    const turned = this.#turned.get(slice.service);
    if (turned === undefined || this.#end === undefined) return slice;
    const now = this.#options.clock.now();
    if (now >= this.#end) return slice;
    return withHeld(slice, (address) => this.#isHeld(turned.get(address), now));
  }

  /** Endpoints that are held back together now; 0 if none are. */
  get heldBack(): number {
    return this.#collective ? this.#endpoints : 0;
  }

  /** Tells of nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #isHeld(since: number | undefined, now: number): boolean {
    return since !== undefined && (this.#collective || now - since < PATIENCE_MS);
  }

  /** Who has been remembered before stays so: a second loss in the window must not take the unready for the normal. */
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

  #join(service: ObjectKey, now: number): void {
    // Whoever tells this is heard, whatever we have been told about contact.
    this.#end ??= now + WINDOW_MS;
    if (!this.#collective) {
      this.#waiting.push({ service, until: now + PATIENCE_MS });
      const drop = this.#drop();
      if (isCollective(drop)) {
        this.#collective = true;
        this.#waiting = [];
        this.#options.events.held(drop);
        this.#options.events.changed([...this.#turned.keys()]);
      }
    }
    this.#wait();
  }

  /** Waits for the end of the window, or of the patience with a drop, whichever is first. */
  #wait(): void {
    const { clock } = this.#options;
    this.#cancel();
    if (this.#isStopped) return;
    const due = Math.min(
      this.#end ?? Number.POSITIVE_INFINITY,
      this.#waiting[0]?.until ?? Number.POSITIVE_INFINITY,
    );
    this.#cancel = clock.after(Math.max(due - clock.now(), 0), () => this.#look());
  }

  #look(): void {
    const now = this.#options.clock.now();
    if (this.#end !== undefined && now >= this.#end) {
      this.#close();
      return;
    }
    const over = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.slice(over.length);
    this.#wait();
    const services = [...new Set(over.map(({ service }) => service))];
    if (services.length > 0) this.#options.events.changed(services);
  }

  /** The window is over: what is published is the truth. */
  #close(): void {
    const { events } = this.#options;
    const services = [...this.#turned.keys()];
    if (this.#collective) this.#believe();
    this.#before = undefined;
    this.#end = undefined;
    this.#turned.clear();
    this.#endpoints = 0;
    this.#waiting = [];
    if (this.#isLost) this.#remember();
    if (services.length > 0) events.changed(services);
  }

  #believe(): void {
    this.#collective = false;
    this.#options.events.believed(this.#drop());
  }

  #drop(): Drop {
    const before = sizeOf(this.#before ?? new Map());
    return { endpoints: this.#endpoints, services: this.#turned.size, before };
  }
}
