import type { Cancel, Clock } from "../clock.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";
import type { ObjectName } from "../kubernetes/api-resource.ts";
import type { ApiServer } from "../kubernetes/api-server.ts";
import { type ApiObject, ApiWriter } from "../kubernetes/writer.ts";
import { sleep } from "../sleep.ts";
import { claimed, LEASES, leaseTerms, microTime } from "./lease.ts";

/** Milliseconds for which a Lease is ours after a renewal, as Kubernetes' own components have it. */
export const LEASE_MS = 15_000;
/** Milliseconds between two renewals, or two looks at another's Lease; a fifth more by chance. */
export const RENEW_MS = 2_000;
/** By what share each wait may grow, so that replicas do not keep in step. */
const SPREAD = 0.2;
/** By what share our clock may be slower than that of another replica. Clocks that NTP steers stay within 0.0005. */
const DRIFT = 0.02;
/** Of a Lease's time, how much one request may take: two may fail, and the third is in time. */
const ATTEMPT = 1 / 4;

/** What a `LeaderElector` is made of. */
export interface LeaderElectorOptions {
  readonly api: ApiServer;
  /** Must go on while this process is stopped. */
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** The time of day, for people who look at the Lease. */
  readonly today: () => Date;
  readonly lease: Required<ObjectName>;
  /** Who we are: no other replica, nor this one after a restart, may call itself the same. */
  readonly identity: string;
  /** Milliseconds, whole seconds; `LEASE_MS` if it is not said. */
  readonly duration?: number;
  /** Milliseconds; `RENEW_MS` if it is not said. */
  readonly renewEvery?: number;
  readonly events: LeaderElectorEvents;
}

/** Who hears of an election. None of it throws. */
export interface LeaderElectorEvents {
  /** What we are from now on. */
  state(state: LeaderState): void;
  /** The Lease was read or written: the API server answers. */
  looked(): void;
  /** The Lease could not be read or written; it is tried again. */
  failed(fault: ApiFault): void;
}

/** What a replica is. */
export interface LeaderState {
  readonly reason: "leader" | "standby" | "not-renewed";
  /** Who holds the Lease as far as is known; empty: nobody. */
  readonly holder: string;
}

/**
 * One of several replicas at a time is the leader, by a Lease on an API server. We lead for as long as the last renewal
 * that was confirmed is worth, counted from before it was sent. Others take a Lease that they have not seen change for
 * as long, counted from after they saw it: so nobody leads before our time is over. Times are differences on each
 * replica's own clock; what time of day others claim is never looked at. Writes are conditional on the resourceVersion:
 * of two that try, one succeeds.
 *
 * What this cannot rule out: somebody empties or deletes the Lease by hand; a machine that stands still together with
 * its monotonic clock; a write that was sent in time and lies on its way for longer than anybody waits. Such writes
 * meet the resourceVersions of what they change.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #writer: ApiWriter;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** The Lease as we last wrote it, if nothing is known to have happened to it since. */
  #ours: ApiObject | undefined;
  /** The Lease may name us, though we may not know. */
  #mayHold = false;
  /** Until when we lead, if nothing else is heard. */
  #until = Number.NEGATIVE_INFINITY;
  #cancelExpiry: Cancel = () => {};
  /** The Lease of another as it was last seen to change, and when. */
  #seen = { version: "", at: 0 };
  #renewals = 0;
  #state: LeaderState | undefined;

  constructor(options: LeaderElectorOptions) {
    const { api, clock, duration = LEASE_MS } = options;
    this.#options = options;
    const within = duration * ATTEMPT;
    this.#writer = new ApiWriter({ api, clock, fieldManager: options.identity, within });
  }

  /**
   * True if we lead now, and will for `ms` milliseconds more, whatever happens: what is begun now, and ends by then,
   * ends before another can lead.
   */
  isLeader(ms = 0): boolean {
    return this.#options.clock.now() + ms < this.#until;
  }

  /** What we are; undefined until the Lease has been looked at. */
  get state(): LeaderState | undefined {
    return this.#state;
  }

  /** Starts; returns at once. Once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Leads no more from the call on, and gives the Lease back, so that another replica need not wait until it runs out.
   * So whatever `isLeader` has let begin must have ended before.
   */
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
    const { clock, random, renewEvery = RENEW_MS } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#round();
        this.#options.events.looked();
      } catch (thrown) {
        // Whether it was written or not, another look will tell.
        this.#ours = undefined;
        this.#fail(thrown);
      }
      await sleep(clock, renewEvery * (1 + SPREAD * random()), signal);
    }
  }

  /** Renews or takes the Lease, unless it may be another's. */
  async #round(): Promise<void> {
    const { clock, identity, lease } = this.#options;
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
      throw new ApiFault("garbage", "A Lease that is not as it was written");
    }
    if (!this.#stop.signal.aborted) this.#lead(began + this.#duration * (1 - DRIFT));
  }

  /** True if the Lease is ours or nobody's, or has not changed for its time. */
  #mayTake({ meta, object }: ApiObject): boolean {
    const { clock, identity } = this.#options;
    const { holder, duration = this.#duration } = leaseTerms(object);
    if (holder === identity) return true;
    // Whatever we believed: it has another holder, or none.
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
    const time = microTime(this.#options.today(), this.#renewals++);
    const claim = { holder, duration: this.#duration, time };
    return claimed(this.#options.lease, before?.object, claim);
  }

  get #duration(): number {
    return this.#options.duration ?? LEASE_MS;
  }

  /** We lead until then; not at all if that is over. */
  #lead(until: number, holder = ""): void {
    const { clock, identity } = this.#options;
    this.#cancelExpiry();
    this.#until = until;
    const left = until - clock.now();
    if (left > 0) {
      this.#cancelExpiry = clock.after(left, () =>
        this.#be({ reason: "not-renewed", holder: identity }),
      );
      this.#be({ reason: "leader", holder: identity });
    } else if (until === Number.NEGATIVE_INFINITY) this.#be({ reason: "standby", holder });
    else this.#be({ reason: "not-renewed", holder: identity });
  }

  #be(state: LeaderState): void {
    if (this.#state?.reason === state.reason && this.#state.holder === state.holder) return;
    this.#state = state;
    this.#options.events.state(state);
  }

  #fail(thrown: unknown): void {
    const fault =
      thrown instanceof ApiFault
        ? thrown
        : new ApiFault("garbage", String(thrown), { cause: thrown });
    // Without a Lease, anybody may make one.
    if (fault.reason === "absent") this.#lead(Number.NEGATIVE_INFINITY);
    this.#options.events.failed(fault);
  }
}
