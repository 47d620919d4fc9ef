import type { Cancel, Clock } from "../clock.ts";
import { sleep } from "../clock.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";
import type { ApiServer } from "../kubernetes/api-server.ts";
import type { ObjectName } from "../kubernetes/resource.ts";
import { type ApiObject, ApiWriter } from "../kubernetes/writer.ts";
import { claimed, LEASES, leaseTerms, microTime } from "./lease.ts";

/** Default Lease duration in milliseconds, as in Kubernetes' components. */
export const LEASE_MS = 15_000;
/** Default milliseconds between two renewals, or two reads of another holder's Lease; up to a fifth longer at random. */
export const RENEW_MS = 2_000;
/** Maximum random extension of each wait, so that replicas do not synchronize. */
const JITTER = 0.2;
/** Tolerated clock drift between replicas. Clocks disciplined by NTP stay within 0.0005. */
const DRIFT = 0.02;
/** Timeout of a request, as a share of the Lease duration: two may fail, and the third is still in time. */
const ATTEMPT = 1 / 4;

/** Options of a `LeaderElector`. */
export interface LeaderElectorOptions {
  readonly api: ApiServer;
  /** Must advance while this process is stopped. */
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** The time of day, shown in the Lease. */
  readonly today: () => Date;
  readonly lease: Required<ObjectName>;
  /** Identity, unique among replicas and restarts. */
  readonly identity: string;
  /** Lease duration in milliseconds, whole seconds. */
  readonly duration: number;
  /** Milliseconds between two renewals, or two reads of another holder's Lease. */
  readonly renewEvery: number;
  readonly events: LeaderElectorEvents;
}

/** Event handlers of a `LeaderElector`. None of them throws. */
export interface LeaderElectorEvents {
  /** The state changed. */
  state(state: LeaderState): void;
  /** The Lease was read or written: the API server answers. */
  looked(): void;
  /** Reading or writing the Lease failed; it is retried. */
  failed(fault: ApiFault): void;
}

/** State of a replica. */
export interface LeaderState {
  readonly reason: "leader" | "standby" | "not-renewed";
  /** The last known holder of the Lease; empty if there is none. */
  readonly holder: string;
}

/**
 * Elects one leader among replicas by a Lease on an API server. A leader's term lasts for the Lease duration, counted from
 * before it sent the last confirmed renewal. Other replicas acquire a Lease that they have not seen change for that
 * duration, counted from after they read it: so terms never overlap. Durations are measured on each replica's monotonic
 * clock; times in the Lease are ignored. Writes are conditional on the resourceVersion, so only one of two succeeds.
 *
 * Not covered: a user who clears or deletes the Lease; a machine whose monotonic clock stops; a write sent in time that is
 * delayed in the network beyond its timeout. Such writes still depend on the resourceVersion of the object they change.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #writer: ApiWriter;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** The Lease as this replica wrote it last, unless a later change is known. */
  #ours: ApiObject | undefined;
  /** The Lease may name this replica as its holder. */
  #mayHold = false;
  /** End of the term. */
  #until = Number.NEGATIVE_INFINITY;
  #cancelExpiry: Cancel = () => {};
  /** The last observed version of another holder's Lease, and when it was first seen. */
  #seen = { version: "", at: 0 };
  #renewals = 0;
  #state: LeaderState | undefined;

  constructor(options: LeaderElectorOptions) {
    const { api, clock, duration } = options;
    this.#options = options;
    const within = duration * ATTEMPT;
    this.#writer = new ApiWriter({ api, clock, fieldManager: options.identity, within });
  }

  /** True if this replica is the leader for at least `ms` more milliseconds. */
  isLeader(ms = 0): boolean {
    return this.#options.clock.now() + ms < this.#until;
  }

  /** The current state; undefined before the first read of the Lease. */
  get state(): LeaderState | undefined {
    return this.#state;
  }

  /** Starts; returns immediately. Call it once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the term and releases the Lease for the next leader. Work that `isLeader` allowed must have ended before. */
  async stop(): Promise<void> {
    this.#lead(Number.NEGATIVE_INFINITY);
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
    if (!this.#mayHold) return;
    this.#mayHold = false;
    try {
      await this.#release();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  async #run(): Promise<void> {
    const { clock, random, renewEvery } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#round();
        this.#options.events.looked();
      } catch (thrown) {
        // The write may have succeeded: read the Lease again.
        this.#ours = undefined;
        this.#fail(thrown);
      }
      await sleep(clock, renewEvery * (1 + JITTER * random()), signal);
    }
  }

  /** Renews or acquires the Lease, unless another replica may hold it. */
  async #round(): Promise<void> {
    const { clock, duration, identity, lease } = this.#options;
    const before = this.#ours ?? (await this.#writer.get(LEASES, lease));
    if (before !== undefined && !this.#mayTake(before)) return;
    if (this.#stop.signal.aborted) return;
    const manifest = this.#claim(before, identity);
    const began = clock.now();
    this.#mayHold = true;
    this.#ours =
      before === undefined
        ? await this.#writer.create(LEASES, manifest)
        : await this.#writer.replace(LEASES, manifest);
    if (leaseTerms(this.#ours.object).holder !== identity) {
      throw new ApiFault("garbage", "The Lease differs from what was written");
    }
    if (!this.#stop.signal.aborted) this.#lead(began + duration * (1 - DRIFT));
  }

  /** True if this replica or none holds the Lease, or if it has expired. */
  #mayTake({ meta, object }: ApiObject): boolean {
    const { clock, identity } = this.#options;
    const { holder, duration = this.#options.duration } = leaseTerms(object);
    if (holder === identity) return true;
    // Another replica or none holds it.
    this.#mayHold = false;
    this.#lead(Number.NEGATIVE_INFINITY, holder);
    const version = `${meta.uid} ${meta.resourceVersion}`;
    if (version !== this.#seen.version) this.#seen = { version, at: clock.now() };
    return holder === "" || clock.now() - this.#seen.at >= duration;
  }

  async #release(): Promise<void> {
    const { identity, lease } = this.#options;
    const before = this.#ours ?? (await this.#writer.get(LEASES, lease));
    if (before === undefined || leaseTerms(before.object).holder !== identity) return;
    await this.#writer.replace(LEASES, this.#claim(before, ""));
  }

  #claim(before: ApiObject | undefined, holder: string) {
    const { duration, lease, today } = this.#options;
    const time = microTime(today(), this.#renewals++);
    return claimed(lease, before?.object, { holder, duration, time });
  }

  /** Sets the end of the term. */
  #lead(until: number, holder = ""): void {
    const { clock, identity } = this.#options;
    this.#cancelExpiry();
    this.#until = until;
    const left = until - clock.now();
    if (left > 0) {
      this.#cancelExpiry = clock.after(left, () =>
        this.#setState({ reason: "not-renewed", holder: identity }),
      );
      this.#setState({ reason: "leader", holder: identity });
    } else if (until === Number.NEGATIVE_INFINITY) this.#setState({ reason: "standby", holder });
    else this.#setState({ reason: "not-renewed", holder: identity });
  }

  #setState(state: LeaderState): void {
    if (this.#state?.reason === state.reason && this.#state.holder === state.holder) return;
    this.#state = state;
    this.#options.events.state(state);
  }

  #fail(thrown: unknown): void {
    const fault =
      thrown instanceof ApiFault
        ? thrown
        : new ApiFault("garbage", String(thrown), { cause: thrown });
    // Another replica may create the Lease.
    if (fault.reason === "absent") this.#lead(Number.NEGATIVE_INFINITY);
    this.#options.events.failed(fault);
  }
}
