import type { Cancel, Clock } from "../../common/clock.ts";
import { type LeaseStep, leaseStep } from "../identity/lease-step.ts";
import type { ClusterSight } from "../liveness/cluster-watch.ts";
import { leaseTimes } from "../liveness/lease-times.ts";
import type { Member } from "../stores/member.ts";
import { RegistryLease, type RegistryLeaseOptions } from "./registry-lease.ts";

/** Of the time between two renewals, how much is waited after a failure: two may time out, and the third is in time. */
const AGAIN = 1 / 4;

/** What a `Registrar` is made of. */
export interface RegistrarOptions extends RegistryLeaseOptions {
  readonly clock: Clock;
  readonly member: RegistryLeaseOptions["member"] & Pick<Member, "lease">;
  /** How our Lease is seen to be renewed, by us or by another. */
  readonly sight: () => ClusterSight | undefined;
  readonly events: {
    /** What is done about the Lease is something else than before. */
    registering(step: LeaseStep): void;
    /** The Lease could not be written, for the so-manieth time in a row; it is tried again. */
    failed(thrown: unknown, failures: number): void;
    /** The registry is somebody else's, so that exports have to wait. */
    elsewhere(): void;
    /** Records may be published from now on. */
    registered(): void;
  };
}

/** Says in our own registry who we are and that we live, as long as nobody else does so under our id. */
export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #lease: RegistryLease;
  /** In a row. */
  #failures = 0;
  #step: LeaseStep | undefined;
  #isRegistered = false;
  #cancel: Cancel = () => undefined;
  /** All rounds that have begun, to their end: one after the other. */
  #rounds: Promise<void> = Promise.resolve();
  #running = false;
  #isBusy = false;
  /** There is something new to be said. */
  #isDue = false;

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#lease = new RegistryLease(options);
  }

  /** True while the registry is ours: records may be written. */
  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** True while the registry is somebody else's, as far as is known. */
  get isElsewhere(): boolean {
    return this.#step !== undefined && this.#step.does !== "write";
  }

  /** Begins, or goes on. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#begin();
  }

  /** Says something new at once: properties or region have changed. */
  again(): void {
    if (!this.#running) return;
    this.#isDue = true;
    // Else it follows the round that is under way.
    if (!this.#isBusy) this.#wait(0);
  }

  /** Says nothing any more. The Lease stays. Settles when what is being written has been answered. */
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
      // A slow answer makes no renewal late.
      wait = Math.max(0, began + renewEvery - clock.now());
    } catch (thrown) {
      wait = renewEvery * AGAIN;
      events.failed(thrown, ++this.#failures);
    }
    this.#isBusy = false;
    if (this.#running) this.#wait(this.#isDue ? 0 : wait);
  }

  #decide(): LeaseStep {
    const { events, member, sight, uid } = this.#options;
    const step = leaseStep(uid, member.lease?.claim, sight());
    const before = this.#step;
    this.#step = step;
    if (before?.reason === step.reason && before.other === step.other) return step;
    events.registering(step);
    if (step.does !== "write") events.elsewhere();
    return step;
  }

  async #act(step: LeaseStep): Promise<void> {
    if (step.does !== "write") this.#isRegistered = false;
    if (step.does === "write") {
      await this.#renew();
      if (step.reason === "duplicate-cluster-id") await this.#lease.uncontest();
    }
    if (step.does === "contest") await this.#lease.contest();
  }

  async #renew(): Promise<void> {
    await this.#lease.renew();
    if (this.#isRegistered || !this.#running) return;
    this.#isRegistered = true;
    this.#options.events.registered();
  }
}
