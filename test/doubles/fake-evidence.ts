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

/** What the kernel's rules and sets do, in memory. */
export class FakeEvidence implements Evidence {
  installed = 0;
  /** Thrown by every access. */
  fault: Error | undefined;
  readonly #clock: Pick<Clock, "now">;
  readonly #waiting = new Map<string, TcpEndpoint & { syns: number; readonly since: number }>();
  readonly #silent = new Map<string, SilentEndpoint & { readonly until: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A client sends a SYN. */
  sent(endpoint: TcpEndpoint): void {
    this.#expire();
    const name = endpointName(endpoint);
    const known = this.#waiting.get(name);
    if (known !== undefined) known.syns++;
    else this.#waiting.set(name, { ...endpoint, syns: 1, since: this.#clock.now() });
  }

  /** The endpoint answers anybody. */
  answered(endpoint: TcpEndpoint): void {
    this.#waiting.delete(endpointName(endpoint));
    this.#silent.delete(endpointName(endpoint));
  }

  /** Another program deletes the table. */
  flush(): void {
    this.#waiting.clear();
    this.#silent.clear();
  }

  async install(): Promise<void> {
    this.#check();
    this.installed++;
  }

  async uninstall(): Promise<number> {
    this.#check();
    this.flush();
    return 0;
  }

  async waiting(): Promise<Waiting[]> {
    this.#check();
    return [...this.#waiting.values()].map(({ since, ...rest }) => ({
      ...{ ...rest, age: this.#clock.now() - since },
    }));
  }

  async silent(): Promise<SilentEndpoint[]> {
    this.#check();
    return [...this.#silent.values()].map(({ until, ...rest }) => ({
      ...{ ...rest, expires: until - this.#clock.now() },
    }));
  }

  async add(endpoints: readonly SilentEndpoint[]): Promise<void> {
    this.#check();
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

  #check(): void {
    if (this.fault !== undefined) throw this.fault;
    this.#expire();
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const [name, { since }] of this.#waiting)
      if (now - since >= WAITING_MS) this.#waiting.delete(name);
    for (const [name, { until }] of this.#silent) if (until <= now) this.#silent.delete(name);
  }
}
