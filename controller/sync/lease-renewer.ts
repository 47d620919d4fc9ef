import type { Cancel, Clock } from "../../common/clock.ts";
import type { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isRejection } from "../../common/kubernetes/recovery.ts";
import { type LeaseStep, leaseStep } from "../identity/lease-step.ts";
import { leaseTimes } from "../liveness/lease-times.ts";
import type { LeaseStatus } from "../members/lease-expiry.ts";
import type { Member } from "../stores/member.ts";
import { Steps } from "./converge.ts";
import { RegistryLease, type RegistryLeaseOptions } from "./registry-lease.ts";

/** Wait after a failure, as a share of the renewal period: after two timeouts the third attempt is still in time. */
const RETRY = 1 / 4;

/** Dependencies of a `LeaseRenewer`. */
export interface LeaseRenewerOptions extends RegistryLeaseOptions {
  readonly clock: Clock;
  readonly member: RegistryLeaseOptions["member"] & Pick<Member, "lease">;
  /** Whether the Lease is renewed, by us or by another cluster. */
  readonly status: () => LeaseStatus | undefined;
  readonly events: {
    /** The action on the Lease has changed. */
    registering(step: LeaseStep): void;
    /** A write failed; it is retried. `failures`: in a row. */
    failed(thrown: unknown, failures: number): void;
    /** Exports have to wait: another cluster holds the Lease, or its first write is rejected. */
    waiting(): void;
    /** Records may be published from now on. */
    registered(): void;
  };
}

/** Renews the Lease of the local cluster's registry, unless another cluster with the same ID holds it. */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  readonly #lease: RegistryLease;
  #failures = 0;
  /** Since when the writes fail. */
  #failingSince: number | undefined;
  #rejection: ApiFault | undefined;
  #step: LeaseStep | undefined;
  #isRegistered = false;
  #cancel: Cancel = () => undefined;
  /** Settles after the last round. */
  #rounds: Promise<void> = Promise.resolve();
  #running = false;
  #isBusy = false;
  /** Another round follows the one in progress. */
  #isDue = false;

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
    this.#lease = new RegistryLease(options);
  }

  /** True while we hold the Lease, renewed or not: records may be written. */
  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** True while another cluster holds the Lease. */
  get isElsewhere(): boolean {
    return this.#step !== undefined && this.#step.does !== "write";
  }

  /** Why we do not hold the Lease: the API server rejects it. */
  get rejection(): ApiFault | undefined {
    return this.#rejection;
  }

  /** For how long the Lease could not be written, in milliseconds; 0 if the last write succeeded. */
  get failingFor(): number {
    const now = this.#options.clock.now();
    return this.#running ? now - (this.#failingSince ?? now) : 0;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#begin();
  }

  /** Renews now: the cluster's description has changed. */
  renewNow(): void {
    if (!this.#running) return;
    this.#isDue = true;
    if (!this.#isBusy) this.#wait(0);
  }

  /** Stops renewing; the Lease stays. Settles when a write in progress has ended. */
  stop(): Promise<void> {
    this.#running = false;
    this.#isRegistered = false;
    this.#cancel();
    return this.#rounds;
  }

  #wait(ms: number): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(ms, () => this.#begin());
  }

  #begin(): void {
    this.#rounds = this.#rounds.then(() => this.#round());
  }

  async #round(): Promise<void> {
    if (!this.#running) return;
    this.#isDue = false;
    this.#isBusy = true;
    const { clock, events, leaseSeconds } = this.#options;
    const { renewEvery } = leaseTimes(leaseSeconds);
    const began = clock.now();
    let wait: number;
    try {
      await this.#act(this.#decide());
      this.#failures = 0;
      this.#failingSince = undefined;
      this.#rejection = undefined;
      // A slow answer must not delay the next renewal.
      wait = Math.max(0, began + renewEvery - clock.now());
    } catch (thrown) {
      wait = renewEvery * RETRY;
      this.#failingSince ??= began;
      this.#reject(thrown);
      events.failed(thrown, ++this.#failures);
    }
    this.#isBusy = false;
    if (this.#running) this.#wait(this.#isDue ? 0 : wait);
  }

  #reject(thrown: unknown): void {
    const before = this.#rejection;
    this.#rejection = isRejection(thrown) && !this.#isRegistered ? thrown : undefined;
    if (before === undefined && this.#rejection !== undefined) this.#options.events.waiting();
  }

  #decide(): LeaseStep {
    const { events, member, status, uid } = this.#options;
    const step = leaseStep(uid, member.lease?.claim, status());
    const before = this.#step;
    this.#step = step;
    if (before?.reason === step.reason && before.other === step.other) return step;
    events.registering(step);
    if (step.does !== "write") events.waiting();
    return step;
  }

  async #act(step: LeaseStep): Promise<void> {
    if (step.does !== "write") this.#isRegistered = false;
    if (step.does === "contest") await this.#lease.contest();
    if (step.does !== "write") return;
    const steps = new Steps();
    const isRenewed = await steps.run(() => this.#lease.renew());
    // A policy that rejects the renewal must not keep dead endpoints in the registry: no other cluster has taken the Lease.
    if (isRenewed || (isOurs(step) && isRejection(steps.fault))) this.#register();
    if (step.reason === "duplicate-cluster-id") await steps.run(() => this.#lease.uncontest());
    steps.end();
  }

  #register(): void {
    if (this.#isRegistered || !this.#running) return;
    this.#isRegistered = true;
    this.#options.events.registered();
  }
}

/** True if the Lease that was seen has our uid. */
function isOurs({ does, reason }: LeaseStep): boolean {
  return does === "write" && (reason === "lease-ours" || reason === "duplicate-cluster-id");
}
