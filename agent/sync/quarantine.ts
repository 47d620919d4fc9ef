import { isDeepStrictEqual } from "node:util";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { type Limits, UNLIMITED } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import {
  type QuarantinedService,
  type QuarantineReason,
  quarantined,
} from "./quarantined-service.ts";

/** Milliseconds until quarantined services are tried again; longer after each retry that is rejected. */
const RETRY: BackoffBounds = { min: 30_000, max: 900_000 };
/** Services that one retry covers: each that is rejected costs a few transactions. */
const RETRIED = 8;

/** A service that the kernel rejected, or that the node does not support. */
interface Entry {
  readonly ref: ServiceRef;
  readonly quarantined: QuarantinedService;
  /** What the service was like; a service that changed is no longer quarantined. */
  readonly terms: string;
  /** True if the node's limits are the reason: it is left out until these change. */
  readonly limited: boolean;
}

/** What the quarantine needs. */
export interface QuarantineOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** A retry has become due. */
  readonly wake: () => void;
}

/**
 * Services that are left out of the kernel because it rejects them, so that all others are programmed. A service with
 * session affinity that the node does not support is programmed without it.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #entries = new Map<ObjectKey, Map<string, Entry>>();
  #limits: Limits = UNLIMITED;
  #limitsChanged = false;
  #retryDue = false;
  #retrying = false;
  #rejected = false;
  #failures = 0;
  #cancel: Cancel | undefined;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** What the node supports, from the next `admit` on. */
  set limits(limits: Limits) {
    this.#limitsChanged ||= !isDeepStrictEqual(limits, this.#limits);
    this.#limits = limits;
  }

  /** True if some services are to be tried again. */
  get retryDue(): boolean {
    return this.#retryDue;
  }

  /** Every quarantined service. */
  get all(): QuarantinedService[] {
    return [...this.#entries.keys()].flatMap((key) => this.of(key));
  }

  /** The quarantined services of one import. */
  of(key: ObjectKey): QuarantinedService[] {
    return [...(this.#entries.get(key)?.values() ?? [])].map((entry) => entry.quarantined);
  }

  /** The services of one import that may be written, without the affinity that is not supported. */
  admit(key: ObjectKey, services: readonly VirtualService[]): readonly VirtualService[] {
    const before = this.#entries.get(key);
    if (before === undefined && services.every((service) => this.#limitOf(service) === undefined)) {
      return services;
    }
    const after = new Map<string, Entry>();
    const admitted: VirtualService[] = [];
    for (const service of services) {
      const entry = this.#limited(service) ?? stillQuarantined(service, before);
      if (entry !== undefined) after.set(entry.ref.port, entry);
      const reason = entry?.quarantined.reason;
      if (reason === undefined) admitted.push(service);
      else if (reason === "affinity-unsupported") admitted.push(withoutAffinity(service));
    }
    if (after.size === 0) this.#entries.delete(key);
    else this.#entries.set(key, after);
    return admitted;
  }

  /** Quarantines a service that the kernel rejected. */
  put(service: VirtualService, reason: QuarantineReason, error: unknown): void {
    const ref = refOf(service);
    const entries = this.#entries.get(ref.key) ?? new Map<string, Entry>();
    const entry = { ref, quarantined: quarantined(service, reason, error), limited: false };
    this.#entries.set(ref.key, entries.set(ref.port, { ...entry, terms: termsOf(service) }));
    this.#rejected = true;
  }

  /**
   * Releases the services that have waited longest, and those that the node supports now. Returns their imports, which have
   * to be written again.
   */
  retry(): ObjectKey[] {
    this.#retryDue = false;
    const all = this.#waiting();
    const some = [
      ...all.filter(({ limited }) => !limited).slice(0, RETRIED),
      ...all.filter(({ limited }) => limited && this.#limitsChanged),
    ];
    this.#limitsChanged = false;
    this.#retrying = some.length > 0;
    for (const { ref } of some) {
      const entries = this.#entries.get(ref.key);
      entries?.delete(ref.port);
      // The next entries of this import are the newest.
      this.#entries.delete(ref.key);
      if (entries !== undefined && entries.size > 0) this.#entries.set(ref.key, entries);
    }
    return some.map(({ ref }) => ref.key);
  }

  /** A pass was accepted: schedules the next retry. One that was accepted in full is followed by the next at once. */
  passed(): void {
    const succeeded = this.#retrying && !this.#rejected;
    this.#retrying = false;
    this.#rejected = false;
    if (this.#waiting().length === 0) {
      this.stop();
      this.#retryDue = false;
      this.#failures = 0;
    } else if (succeeded) {
      this.#failures = 0;
      this.#retryDue = true;
    } else if (this.#cancel === undefined && !this.#retryDue) {
      const { clock, random, wake } = this.#options;
      this.#cancel = clock.after(backoff(++this.#failures, RETRY, random()), () => {
        this.#cancel = undefined;
        this.#retryDue = true;
        wake();
      });
    }
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #waiting(): Entry[] {
    return [...this.#entries.values()].flatMap((entries) => [...entries.values()]);
  }

  #limited(service: VirtualService): Entry | undefined {
    const reason = this.#limitOf(service);
    if (reason === undefined) return undefined;
    this.#rejected = true;
    const entry = { ref: refOf(service), quarantined: quarantined(service, reason), terms: "" };
    return { ...entry, limited: true };
  }

  #limitOf({ protocol, affinitySeconds }: VirtualService): QuarantineReason | undefined {
    if (!this.#limits.protocols.has(protocol)) return "refused-by-kernel";
    const unsupported = affinitySeconds !== undefined && !this.#limits.affinity;
    return unsupported ? "affinity-unsupported" : undefined;
  }
}

/** The same service, of which each connection picks its endpoint. */
export function withoutAffinity(service: VirtualService): VirtualService {
  const { affinitySeconds: _affinity, ...rest } = service;
  return rest;
}

function stillQuarantined(
  service: VirtualService,
  entries: ReadonlyMap<string, Entry> | undefined,
): Entry | undefined {
  const entry = entries?.get(refOf(service).port);
  return entry !== undefined && !entry.limited && entry.terms === termsOf(service)
    ? entry
    : undefined;
}

/** Everything that the kernel may reject besides endpoints, which change too often to retry for each. */
function termsOf({ portName, vips, affinitySeconds, scheduler }: VirtualService): string {
  return JSON.stringify([portName, vips, affinitySeconds, scheduler]);
}

/** Names one service of a family: one port and protocol of an import. */
export interface ServiceRef {
  readonly key: ObjectKey;
  /** `80 TCP`. */
  readonly port: string;
}

/** The name of a service. */
export function refOf({ importKey, port, protocol }: VirtualService): ServiceRef {
  return { key: importKey, port: `${port} ${protocol}` };
}
