import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** Milliseconds for which no slice lists an endpoint before its connections are reset. */
const CONFIRM_MS = 1_000;

/** What slices list for one port whose connections are reset. */
interface Listed {
  /** As of the last plan; one text, separated by blanks, because there may be thousands. */
  text: string;
  /** Endpoints that slices listed until a moment ago, each with the number of its loss. */
  readonly missing: Map<string, number>;
  /** False in the first second: an endpoint may be missing since before. */
  complete: boolean;
}

/**
 * Delays resets of TCP connections (`on-endpoint-death: reset`): an endpoint that moves between slices is in none for a moment, and so
 * are endpoints of slices that are not listed yet. Connections are kept until an endpoint has been missing for a second.
 */
export class UnlistedEndpoints {
  readonly #clock: Clock;
  readonly #confirmed: (key: ObjectKey) => void;
  readonly #imports = new Map<ObjectKey, Map<string, Listed>>();
  readonly #timers = new Set<Cancel>();
  #losses = 0;

  /** `confirmed`: `confirm` returns another result for this import from now on. */
  constructor(clock: Clock, confirmed: (key: ObjectKey) => void) {
    this.#clock = clock;
    this.#confirmed = confirmed;
  }

  /** The services as planned, but with the connections that are not to be reset yet. Equal services give an equal result until `confirmed`. */
  confirm(key: ObjectKey, services: readonly VirtualService[]): readonly VirtualService[] {
    const before = this.#imports.get(key);
    const after = new Map<string, Listed>();
    const confirmed = services.map((service) => {
      const { protocol, keeps } = service;
      if (protocol !== "TCP" || keeps === undefined) return service;
      const port = `${service.family} ${service.port}`;
      const listed = before?.get(port) ?? this.#first(key);
      after.set(port, listed);
      this.#update(key, listed, keeps);
      if (listed.complete) {
        return listed.missing.size === 0
          ? service
          : { ...service, keeps: [...keeps, ...listed.missing.keys()] };
      }
      const { keeps: _, ...rest } = service;
      return rest;
    });
    if (after.size > 0) this.#imports.set(key, after);
    else this.#imports.delete(key);
    return confirmed;
  }

  /** Confirms nothing any more. */
  stop(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #first(key: ObjectKey): Listed {
    const listed: Listed = { text: "", missing: new Map(), complete: false };
    this.#later(key, () => {
      listed.complete = true;
    });
    return listed;
  }

  #update(key: ObjectKey, listed: Listed, keeps: readonly string[]): void {
    const text = keeps.join(" ");
    if (text === listed.text) return;
    const present = new Set(keeps);
    const lost = listed.text.split(" ").filter((one) => one !== "" && !present.has(one));
    listed.text = text;
    for (const one of listed.missing.keys()) if (present.has(one)) listed.missing.delete(one);
    if (lost.length === 0) return;
    const loss = ++this.#losses;
    for (const one of lost) listed.missing.set(one, loss);
    this.#later(key, () => {
      for (const one of lost) if (listed.missing.get(one) === loss) listed.missing.delete(one);
    });
  }

  #later(key: ObjectKey, change: () => void): void {
    const cancel = this.#clock.after(CONFIRM_MS, () => {
      this.#timers.delete(cancel);
      change();
      this.#confirmed(key);
    });
    this.#timers.add(cancel);
  }
}
