import type {
  Evidence,
  SilentEndpoint,
  TcpEndpoint,
  Waiting,
} from "../../agent/health/evidence.ts";
import { endpointName } from "../../agent/health/verdict.ts";
import type { Clock } from "../../common/clock.ts";

/** As in agent/health/health-rules.ts. */
const WAITING_MS = 30_000;
const ANSWERING_MS = 2_000;

/** Milliseconds between two first SYNs that are recorded: at most 10 in a second. */
const SAMPLE_MS = 100;

type Unanswered = Map<string, TcpEndpoint & { syns: number; readonly since: number }>;

/** What the kernel's rules and sets do, in memory. */
export class FakeEvidence implements Evidence {
  /** Thrown by every access. */
  fault: Error | undefined;
  #isInstalled = false;
  readonly #answering = new Map<string, TcpEndpoint & { readonly at: number }>();
  readonly #clock: Pick<Clock, "now">;
  readonly #waiting: Unanswered = new Map();
  readonly #repeated: Unanswered = new Map();
  #nextSample = 0;
  readonly #silent = new Map<string, SilentEndpoint & { readonly until: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A client sends a SYN, for the first time or again. */
  sent(endpoint: TcpEndpoint, isRepeated: boolean): void {
    this.#expire();
    if (!this.#isInstalled) return;
    if (isRepeated) this.#record(this.#repeated, endpoint);
    if (this.#clock.now() < this.#nextSample) return;
    this.#nextSample = this.#clock.now() + SAMPLE_MS;
    this.#record(this.#waiting, endpoint);
  }

  /** The endpoint answers anybody: a client, or the agent's probe. */
  answered(endpoint: TcpEndpoint, isClient: boolean): void {
    if (isClient && this.#isInstalled)
      this.#answering.set(endpointName(endpoint), { ...endpoint, at: this.#clock.now() });
    this.#waiting.delete(endpointName(endpoint));
    this.#repeated.delete(endpointName(endpoint));
    this.#silent.delete(endpointName(endpoint));
  }

  /** Another program deletes the table. */
  flush(): void {
    this.#waiting.clear();
    this.#repeated.clear();
    this.#silent.clear();
    this.#isInstalled = false;
  }

  async install(): Promise<boolean> {
    this.#check();
    const isNew = !this.#isInstalled;
    this.#isInstalled = true;
    return isNew;
  }

  async uninstall(): Promise<number> {
    this.#check();
    this.flush();
    return 0;
  }

  async waiting(): Promise<Waiting[]> {
    this.#check();
    return [this.#waiting, this.#repeated].flatMap((set) =>
      [...set.values()].map(({ since, ...rest }) => ({
        ...{ ...rest, age: this.#clock.now() - since, areRepeated: set === this.#repeated },
      })),
    );
  }

  async silent(): Promise<SilentEndpoint[]> {
    this.#check();
    return [...this.#silent.values()].map(({ until, ...rest }) => ({
      ...{ ...rest, expires: until - this.#clock.now() },
    }));
  }

  async answering(within: number): Promise<TcpEndpoint[]> {
    this.#check();
    const since = this.#clock.now() - Math.min(within, ANSWERING_MS);
    return [...this.#answering.values()].filter(({ at }) => at > since);
  }

  async add(endpoints: readonly SilentEndpoint[]): Promise<void> {
    this.#check();
    if (!this.#isInstalled) throw new Error("no table");
    for (const one of endpoints) {
      const name = endpointName(one);
      if (this.#silent.has(name)) continue;
      this.#silent.set(name, { ...one, until: this.#clock.now() + one.expires });
    }
  }

  async remove(endpoints: readonly TcpEndpoint[]): Promise<void> {
    this.#check();
    for (const one of endpoints) this.#silent.delete(endpointName(one));
  }

  #record(set: Unanswered, endpoint: TcpEndpoint): void {
    const known = set.get(endpointName(endpoint));
    if (known !== undefined) known.syns++;
    else set.set(endpointName(endpoint), { ...endpoint, syns: 1, since: this.#clock.now() });
  }

  #check(): void {
    if (this.fault !== undefined) throw this.fault;
    this.#expire();
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const set of [this.#waiting, this.#repeated]) {
      for (const [name, { since }] of set) if (now - since >= WAITING_MS) set.delete(name);
    }
    for (const [name, { until }] of this.#silent) if (until <= now) this.#silent.delete(name);
  }
}
