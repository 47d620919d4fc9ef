import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { LEASE_MS, LeaderElector, RENEW_MS } from "../../common/lease/leader-elector.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import type { Fields } from "../doubles/memory/fields.ts";
import { CALM, MemoryApiServer } from "../doubles/memory/memory-api-server.ts";

/** How bad the ways to the API server are. */
export interface Weather {
  /** Milliseconds that a message takes at most. */
  readonly delay: number;
  /** Chances, from 0 to 1. */
  readonly lost: number;
  readonly error: number;
}

export const FINE: Weather = { delay: 5, lost: 0, error: 0 };

/** Replicas that elect a leader by one Lease, on clocks of their own, over ways that delay and lose. */
export class LeaseWorld implements AsyncDisposable {
  /** True time. */
  readonly clock = new FakeClock();
  readonly server = new LeaseServer(this.clock);
  readonly replicas: Replica[] = [];
  weather = FINE;
  /** Two leaders at a time, if there ever were. */
  readonly wrong: string[] = [];
  /** A number in [0, 1). */
  readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  /** Starts another replica. `rate`: how fast its clock goes. */
  join(rate = 1): Replica {
    const replica = new Replica(this, `replica-${this.replicas.length}`, rate);
    this.replicas.push(replica);
    replica.elector.start();
    return replica;
  }

  /** Moves time on, event by event; at each, every replica is asked whether it leads. */
  async pass(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; ) {
      const step = Math.min(left, this.clock.next ?? left);
      this.clock.advance(step);
      left -= step;
      await this.settle();
    }
  }

  async settle(): Promise<void> {
    await setImmediate();
    for (const replica of this.replicas) replica.ask();
  }

  /** All replicas end; there must never have been two leaders, and nothing may be pending. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.replicas) if (!one.stopped) void one.stop();
    await this.pass(30_000);
    assert.deepEqual(this.wrong, []);
    assert.equal(this.clock.pending, 0);
  }

  /** Those that say they lead. */
  get leaders(): Replica[] {
    return this.replicas.filter((one) => !one.paused && one.elector.isLeader());
  }
}

/** One replica: it may stand still, its clock may be fast or slow, and what it asks may get lost. */
export class Replica {
  readonly elector: LeaderElector;
  readonly states: string[] = [];
  readonly faults: string[] = [];
  /** How often the Lease was read or written. */
  looks = 0;
  paused = false;
  stopped = false;
  /** It is cut off: whatever it sends is lost, and so are answers to it. */
  cut = false;
  /** Until when, in true time, it was said that it leads. */
  granted = 0;
  readonly #world: LeaseWorld;
  readonly #name: string;
  readonly #rate: number;
  /** What fell due while it stood still. */
  readonly #late: (() => void)[] = [];

  constructor(world: LeaseWorld, name: string, rate: number) {
    this.#world = world;
    this.#name = name;
    this.#rate = rate;
    this.elector = new LeaderElector({
      api: this.#link(),
      clock: this.#clock(rate),
      random: world.random,
      today: () => new Date(0),
      lease: { namespace: "here", name: "leader" },
      identity: name,
      duration: LEASE_MS,
      renewEvery: RENEW_MS,
      events: {
        state: ({ reason }) => void this.states.push(reason),
        looked: () => void this.looks++,
        failed: ({ reason }) => void this.faults.push(reason),
      },
    });
  }

  /** Asks for how long it leads, as whoever writes may; that must exclude all others until then. */
  ask(): void {
    const now = this.#world.clock.now();
    if (this.paused || !this.elector.isLeader()) return;
    for (const other of this.#world.replicas) {
      if (other !== this && other.granted > now) {
        this.#world.wrong.push(`${now}: ${this.#name} and ${other.#name}`);
      }
    }
    let [yes, no] = [0, 2 * LEASE_MS];
    while (no - yes > 1) {
      const ms = (yes + no) / 2;
      if (this.elector.isLeader(ms)) yes = ms;
      else no = ms;
    }
    this.granted = Math.max(this.granted, now + yes / this.#rate);
  }

  /** It stands still: nothing falls due, nothing arrives. */
  pause(): void {
    this.paused = true;
  }

  /** It goes on; whether it first sees its timers or its answers is left to chance. */
  resume(): void {
    this.paused = false;
    this.ask();
    const late = this.#late.splice(0);
    for (const run of this.#world.random() < 0.5 ? late : late.reverse()) {
      run();
      this.ask();
    }
  }

  /** Ends it in good order: what it had begun has ended. */
  stop(): Promise<void> {
    this.stopped = true;
    this.granted = 0;
    return this.elector.stop();
  }

  #clock(rate: number): Clock {
    const { clock } = this.#world;
    const offset = this.#world.random() * 1e6;
    return {
      now: () => offset + clock.now() * rate,
      after: (ms, run) => this.#once(ms / rate, run),
    };
  }

  /** Runs it in so many true milliseconds, or when it goes on. */
  #once(ms: number, run: () => void): Cancel {
    let due = (): void => run();
    const cancel = this.#world.clock.after(ms, () =>
      this.paused ? this.#late.push(() => due()) : due(),
    );
    return () => {
      cancel();
      due = () => {};
    };
  }

  #link(): ApiServer {
    const { random, clock, server } = this.#world;
    const request = (asked: ApiRequest): Promise<ApiResponse> => {
      const answer = Promise.withResolvers<ApiResponse>();
      const fail = (): void => answer.reject(asked.signal.reason);
      asked.signal.addEventListener("abort", fail, { once: true });
      const { delay, lost, error } = this.#world.weather;
      const arrive = async (): Promise<void> => {
        if (this.cut || random() < lost) return;
        const failed = random() < error;
        // Who fails may have done it, or not. What has arrived is done, whoever waits for the answer.
        const { signal } = new AbortController();
        let response = await server.answer({ ...asked, signal }, failed && random() < 0.5);
        if (failed) response = await server.answer({ ...asked, signal }, true);
        if (this.cut || random() < lost) return;
        this.#once(random() * delay, () => answer.resolve(response));
      };
      if (random() < error / 2)
        this.#once(0, () => answer.reject(new ApiFault("unreachable", "No")));
      else clock.after(random() * delay, () => void arrive());
      return answer.promise;
    };
    return { address: "memory:", recovery: new Recovery(), request, close: async () => {} };
  }
}

const KEY = "here/leader";

/** An API server with one Lease, and what others do to it. */
class LeaseServer extends MemoryApiServer {
  /** Methods of all requests that it answered; undefined for those that read. */
  readonly methods: (string | undefined)[] = [];

  constructor(clock: Clock) {
    super("lease", clock, () => 0.5);
    this.weather = CALM;
    this.objects.replace("namespaces", "here", { metadata: { name: "here" } }, "somebody");
  }

  get lease(): Fields | undefined {
    return this.objects.get("leases", KEY);
  }

  /** Answers a request, or fails. */
  answer(asked: ApiRequest, fails: boolean): Promise<ApiResponse> {
    if (fails) this.faults.push({ kind: "status", status: 500 });
    else this.methods.push(asked.write?.method);
    return this.request(asked);
  }

  /** Somebody else writes it: a person, or a replica that is not here. */
  write(spec: object): void {
    const metadata = { namespace: "here", name: "leader" };
    this.objects.replace("leases", KEY, { metadata, spec }, "somebody");
  }

  /** Somebody else deletes it. */
  delete(): void {
    this.objects.delete("leases", KEY);
  }
}
