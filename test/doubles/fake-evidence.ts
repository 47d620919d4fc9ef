import type {
  Answered,
  Evidence,
  Overdue,
  SilentEndpoint,
  TcpEndpoint,
} from "../../agent/health/evidence.ts";
import { endpointName, pairName } from "../../agent/health/verdict.ts";
import type { Clock } from "../../common/clock.ts";

/** As in agent/health/health-rules.ts. */
const WAITING_MS = 30_000;
const ACCEPTED_MS = 120_000;

/** Milliseconds between two first SYNs that are recorded: at most 10 in a second. */
const SAMPLE_MS = 100;

type Unanswered = Map<string, TcpEndpoint & { syns: number; readonly since: number }>;
type Pairs = Map<string, TcpEndpoint & { readonly client: string; readonly at: number }>;

/** What the kernel's rules and sets do, in memory. */
export class FakeEvidence implements Evidence {
  /** Thrown by every access. */
  fault: Error | undefined;
  #isInstalled = false;
  readonly #clock: Pick<Clock, "now">;
  readonly #waiting: Unanswered = new Map();
  readonly #repeated: Unanswered = new Map();
  readonly #callers: Pairs = new Map();
  readonly #accepted: Pairs = new Map();
  /** When expired elements were last removed: nothing expires until the clock moves. */
  #expiredAt = Number.NEGATIVE_INFINITY;
  #nextSample = 0;
  readonly #silent = new Map<string, SilentEndpoint & { readonly until: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A client sends a SYN, for the first time or again. */
  sent(endpoint: TcpEndpoint, client: string, isRepeated: boolean): void {
    this.#expire();
    if (!this.#isInstalled) return;
    const now = this.#clock.now();
    // Token bucket, as in the kernel: 10 a second, burst 10.
    if (!isRepeated) {
      this.#nextSample = Math.max(this.#nextSample, now - 9 * SAMPLE_MS);
      if (this.#nextSample > now) return;
      this.#nextSample += SAMPLE_MS;
    }
    this.#record(isRepeated ? this.#repeated : this.#waiting, endpoint);
    this.#callers.set(pairName({ ...endpoint, client }), { ...endpoint, client, at: now });
  }

  /** The endpoint answers a client, or the agent's probe. */
  accepts(endpoint: TcpEndpoint, client: string | undefined): void {
    const name = endpointName(endpoint);
    for (const set of [this.#waiting, this.#repeated, this.#silent]) set.delete(name);
    if (client === undefined) return;
    const pair = pairName({ ...endpoint, client });
    this.#callers.delete(pair);
    const at = this.#clock.now();
    if (this.#isInstalled) this.#accepted.set(pair, { ...endpoint, client, at });
  }

  /** Another program deletes the table. */
  flush(): void {
    for (const set of [this.#waiting, this.#repeated, this.#callers, this.#accepted, this.#silent])
      set.clear();
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

  async overdue(): Promise<Overdue[] | undefined> {
    this.#check();
    if (!this.#isInstalled) return undefined;
    const now = this.#clock.now();
    const names = new Set([...this.#waiting.keys(), ...this.#repeated.keys()]);
    const callers = Map.groupBy(this.#callers.values(), endpointName);
    return [...names].flatMap((name) => {
      const [first, again] = [this.#waiting.get(name), this.#repeated.get(name)];
      const endpoint = first ?? again;
      if (endpoint === undefined) return [];
      const { address, port } = endpoint;
      const since = Math.min(first?.since ?? now, again?.since ?? now);
      const recent = (callers.get(name) ?? []).filter(({ at }) => at >= since);
      return {
        ...{ address, port, syns: first?.syns ?? 0, repeats: again?.syns ?? 0 },
        ...{ age: now - since, repeatedAge: again === undefined ? 0 : now - again.since },
        clients: recent.map(({ client }) => client),
      };
    });
  }

  async answered(): Promise<Answered[]> {
    this.#check();
    const now = this.#clock.now();
    return [...this.#accepted.values()].map(({ at, ...one }) => ({ ...one, age: now - at }));
  }

  async silent(): Promise<SilentEndpoint[]> {
    this.#check();
    return [...this.#silent.values()].map(({ until, ...rest }) => ({
      ...{ ...rest, expires: until - this.#clock.now() },
    }));
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

  async forget(endpoints: readonly TcpEndpoint[]): Promise<void> {
    this.#check();
    for (const one of endpoints.map(endpointName))
      for (const set of [this.#waiting, this.#repeated]) set.delete(one);
  }

  async remove(endpoints: readonly TcpEndpoint[]): Promise<void> {
    this.#check();
    for (const one of endpoints) this.#silent.delete(endpointName(one));
  }

  async take<One extends TcpEndpoint>(endpoints: readonly One[]): Promise<One[]> {
    this.#check();
    return endpoints.filter((one) => this.#silent.delete(endpointName(one)));
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
    if (now === this.#expiredAt) return;
    this.#expiredAt = now;
    for (const set of [this.#waiting, this.#repeated]) {
      for (const [name, { since }] of set) if (now - since >= WAITING_MS) set.delete(name);
    }
    for (const [name, { at }] of this.#callers)
      if (now - at >= WAITING_MS) this.#callers.delete(name);
    for (const [name, { at }] of this.#accepted)
      if (now - at >= ACCEPTED_MS) this.#accepted.delete(name);
    for (const [name, { until }] of this.#silent) if (until <= now) this.#silent.delete(name);
  }
}
