import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import type { Silence } from "../model/silence.ts";
import type { TcpEndpoint, Waiting } from "./evidence.ts";
import { type Judgement, judge, type Probed, type ProbeResult } from "./judge.ts";
import { endpointName } from "./verdict.ts";
import type { WatchedEndpoints } from "./watched-endpoints.ts";

/** What an examiner needs. */
export interface ExaminerOptions {
  /** Connects to an endpoint. Never rejects. */
  readonly probe: (endpoint: TcpEndpoint) => Promise<ProbeResult>;
  /** Endpoints that owe an answer now. */
  readonly waiting: () => Promise<readonly Waiting[]>;
  /** Endpoints that have accepted a client's connection within these milliseconds. */
  readonly answering: (within: number) => Promise<readonly TcpEndpoint[]>;
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * Milliseconds in which a healthy endpoint answers. TCP repeats a SYN after a second (RFC 6298, 2.1), because an answer takes less.
 */
const ANSWER_MS = 1_000;
/** The same for a SYN that was sent again, to which a second is added. */
const REPEATED_ANSWER_MS = 250;
/** Endpoints that are probed at once for one cluster. Where a third of it is dead, such as a zone, all of six samples are once in 700 times. */
const MOST = { suspects: 4, samples: 6, others: 2 };
/** Clusters that are examined at once. */
const MOST_EXAMINED = 8;
/** Milliseconds for which an endpoint that is not watched is no suspect. */
const CLEARED = { min: 1_000, max: 30_000 };
/** The same for one that has answered a probe, but not clients: who calls it where a policy drops that must not delay its verdict for long. */
const ANSWERED = { min: 1_000, max: 3_000 };
/** Endpoints of which that is known. */
const MOST_CLEARED = 4_096;

/** What became of a probe. */
type Result = Pick<Probed, "endpoint" | "result">;

/** So many that without those of any one namespace, whose answers may count for it alone, there are enough. */
function samplesOf(cluster: string, watched: WatchedEndpoints): number {
  const namespaces = watched.isDeclared(cluster) ? 1 : watched.namespacesOf(cluster);
  return MOST.samples + (namespaces < 2 ? 0 : Math.ceil(MOST.samples / (namespaces - 1)));
}

/** Whether an answer is late, but not yet too late. PURE. */
export function isLate({ age, areRepeated }: Waiting): boolean {
  return areRepeated || age >= ANSWER_MS / 2;
}

/** Two SYNs without an answer: the second one of a client, or those of two clients. */
function isSuspect({ age, syns, areRepeated }: Waiting): boolean {
  return areRepeated ? age >= REPEATED_ANSWER_MS : age >= ANSWER_MS && syns > 1;
}

/** An endpoint that is no suspect. */
interface Cleared {
  /** How often in a row. */
  readonly times: number;
  /** Milliseconds of the clock. */
  readonly until: number;
  /** Because it has answered a probe. */
  readonly hasAnswered: boolean;
}

/** Examines clusters whose endpoints do not answer clients, each once at a time. */
export class Examiner {
  readonly #options: ExaminerOptions;
  readonly #examined = new Set<string>();
  /** Endpoints that are no suspects until some time. */
  readonly #cleared = new Map<string, Cleared>();

  constructor(options: ExaminerOptions) {
    this.#options = options;
  }

  /** The suspects among these. */
  suspects(waiting: readonly Waiting[]): TcpEndpoint[] {
    const now = this.#options.clock.now();
    const suspects = new Map<string, TcpEndpoint>();
    for (const one of waiting) {
      const name = endpointName(one);
      const isCleared = (this.#cleared.get(name)?.until ?? now) > now;
      if (isSuspect(one) && !isCleared) suspects.set(name, one);
    }
    return [...suspects.values()];
  }

  /** True while as many clusters are under examination as may be at once. */
  get isFull(): boolean {
    return this.#examined.size >= MOST_EXAMINED;
  }

  /**
   * Probes suspects of a cluster, and others to compare them with, which are not silent as far as is known. The examination lasts until `found` has
   * dealt with its judgement. Undefined while the cluster is under examination, or too many are.
   */
  examine(
    cluster: string,
    suspects: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
    known: Silence,
    found: (judgement: Judgement) => Promise<void>,
  ): Promise<void> | undefined {
    if (this.#examined.has(cluster) || this.isFull) return undefined;
    this.#examined.add(cluster);
    return this.#examine(cluster, suspects.slice(0, MOST.suspects), watched, known)
      .then(found)
      .finally(() => this.#examined.delete(cluster));
  }

  /** These are no suspects for a while, longer each time. */
  clear(endpoints: readonly TcpEndpoint[]): void {
    for (const one of endpoints) this.#clear(endpointName(one), CLEARED, false);
  }

  async #examine(
    cluster: string,
    chosen: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
    { endpoints, clusters }: Silence,
  ): Promise<Judgement> {
    const begun = this.#options.clock.now();
    if (chosen.every((one) => this.#hasAnsweredBefore(one))) {
      const again = await this.#probeAll(chosen);
      for (const { endpoint, result } of again) this.#remember(endpoint, result);
      if (again.every(({ result }) => result !== "silent")) return { silent: "nothing" };
    }
    const except = new Set([...chosen.map(({ address }) => address), ...endpoints.keys()]);
    const [suspects, samples, elsewhere] = await Promise.all([
      this.#probeAll(chosen),
      this.#probeAll(watched.sample(cluster, samplesOf(cluster, watched), except)),
      this.#probeOthers(watched.others(cluster, MOST.others, clusters), watched),
    ]);
    const lasted = this.#options.clock.now() - begun;
    const confirmed = await this.#confirm(suspects, lasted);
    // Policies of a cluster may drop probes of nodes, all of them, while clients are served.
    const answering = watched.byCluster(await this.#options.answering(lasted)).get(cluster);
    for (const endpoint of answering?.keys() ?? []) samples.push({ endpoint, result: "accepted" });
    for (const { endpoint, result } of confirmed) this.#remember(endpoint, result);
    const own = [...confirmed, ...samples].map(({ endpoint }) => endpoint);
    const listed = watched.byCluster(own).get(cluster);
    const withNamespaces = ({ endpoint, result }: Result): Probed => {
      return { endpoint, result, namespaces: listed?.get(endpoint) ?? new Set() };
    };
    return judge({
      suspects: confirmed.map(withNamespaces),
      samples: samples.map(withNamespaces),
      others: elsewhere,
      isDeclared: watched.isDeclared(cluster),
    });
  }

  /** A suspect that has answered a client within these milliseconds is not silent: an overloaded one answers some. */
  async #confirm(suspects: readonly Result[], within: number): Promise<Result[]> {
    const waiting = await this.#options.waiting();
    const silent = new Set(waiting.filter(({ age }) => age >= within).map(endpointName));
    return suspects.map(({ endpoint, result }) => {
      const hasAnswered = result === "silent" && !silent.has(endpointName(endpoint));
      return { endpoint, result: hasAnswered ? "accepted" : result };
    });
  }

  async #probeAll(endpoints: readonly TcpEndpoint[]): Promise<Result[]> {
    const probe = async (endpoint: TcpEndpoint) => {
      return { endpoint, result: await this.#options.probe(endpoint) };
    };
    return Promise.all(endpoints.map(probe));
  }

  async #probeOthers(clusters: readonly string[], watched: WatchedEndpoints): Promise<Result[]> {
    const probes = clusters.map((one) => this.#probeAll(watched.sample(one, 1, new Set())));
    return (await Promise.all(probes)).flat();
  }

  /** A probe that is answered clears a suspect, for longer each time: its path to some clients may be closed on purpose. */
  #remember(endpoint: TcpEndpoint, result: ProbeResult): void {
    if (result === "accepted" || result === "refused")
      this.#clear(endpointName(endpoint), ANSWERED, true);
  }

  /** Such an endpoint is probed alone: twelve connects every few seconds would be many, as long as a policy drops those of clients. */
  #hasAnsweredBefore(endpoint: TcpEndpoint): boolean {
    const last = this.#cleared.get(endpointName(endpoint));
    const isRecent = last !== undefined && this.#options.clock.now() - last.until <= CLEARED.max;
    return isRecent && last.hasAnswered && last.times > 1;
  }

  #clear(name: string, bounds: BackoffBounds, hasAnswered: boolean): void {
    const { clock, random } = this.#options;
    const now = clock.now();
    const last = this.#cleared.get(name);
    this.#cleared.delete(name);
    const isRecent = last !== undefined && now - last.until <= CLEARED.max;
    const times = isRecent ? last.times + 1 : 1;
    const until = now + backoff(times, bounds, random());
    this.#cleared.set(name, { times, until, hasAnswered });
    for (const oldest of this.#cleared.keys()) {
      if (this.#cleared.size <= MOST_CLEARED) break;
      this.#cleared.delete(oldest);
    }
  }
}
