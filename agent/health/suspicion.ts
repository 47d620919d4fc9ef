import { backoff } from "../../common/backoff.ts";
import type { TcpEndpoint, Waiting } from "./evidence.ts";
import { Examiner, isLate } from "./examiner.ts";
import { isOnlyOf, type Judgement } from "./judge.ts";
import { inTurns, leastOf, rarestFirst } from "./turns.ts";
import { elementsOf, endpointName, expiryOf, type Verdict } from "./verdict.ts";
import { PROBE, type VerdictEnds, type VerdictEndsOptions } from "./verdict-ends.ts";
import type { Listed, WatchedEndpoints } from "./watched-endpoints.ts";

/** What a suspicion needs. */
export interface SuspicionOptions extends Omit<VerdictEndsOptions, "install"> {
  readonly ends: VerdictEnds;
  /** Work that is under way, and may reject. */
  readonly follow: (work: Promise<void>) => void;
  readonly stop: AbortSignal;
}

/** Endpoints of which each ends the verdict on their cluster. */
const MOST_ENDING = 64;
/**
 * Verdicts on endpoints of one namespace, whose slices may list any number, and on clusters that only its slices name: each is probed every 30 s at least.
 */
const MOST_OF_NAMESPACE = 64;

/** From endpoints that owe an answer to verdicts: suspects are examined, and what is found silent begins a verdict. */
export class Suspicion {
  readonly #options: SuspicionOptions;
  readonly #examiner: Examiner;

  constructor(options: SuspicionOptions) {
    this.#options = options;
    const { clock, evidence, prober, random } = options;
    this.#examiner = new Examiner({
      probe: (endpoint) => prober.probe(endpoint),
      waiting: () => evidence.waiting(),
      answering: (within) => evidence.answering(within),
      ...{ clock, random },
    });
  }

  /** Examines those of the endpoints that wait for an answer that have waited too long. */
  async suspect(waiting: readonly Waiting[], watched: WatchedEndpoints): Promise<void> {
    const suspects = this.#examiner.suspects(waiting);
    if (suspects.length === 0) {
      if (!waiting.some(isLate)) this.#options.prober.setUplink(false);
      return;
    }
    const byCluster = watched.byCluster(suspects);
    const listed = new Set([...byCluster.values()].flatMap((members) => [...members.keys()]));
    this.#examiner.clear(suspects.filter((one) => !listed.has(one)));
    // An examination that ends meanwhile makes room for the first of the next look, not for those behind it.
    let hasRoom = true;
    for (const [cluster, members] of rarestFirst(byCluster)) {
      hasRoom &&= !this.#examiner.isFull;
      const whole = this.#options.verdicts.ofCluster(cluster);
      if (whole !== undefined) await this.#join(whole, members);
      const next = this.#inTurns(cluster, members);
      if (next.length === 0 || !hasRoom) continue;
      const found = (one: Judgement) => this.#judged(cluster, members, watched, one);
      const known = this.#options.verdicts.silence;
      const examination = this.#examiner.examine(cluster, next, watched, known, found);
      if (examination !== undefined) this.#options.follow(examination);
    }
  }

  /**
   * Those without a verdict. Namespaces take turns, those with enough verdicts last: one with thousands of silent endpoints does not delay others.
   */
  #inTurns(cluster: string, suspects: Listed): TcpEndpoint[] {
    const unknown = [...suspects]
      .filter(([one, namespaces]) => !this.#options.verdicts.on(one, cluster, namespaces))
      .map(([one]) => one);
    const counts = this.#options.verdicts.byNamespace("endpoint");
    const isFull = (namespace: string) => (counts.get(namespace) ?? 0) >= MOST_OF_NAMESPACE;
    const queues = Map.groupBy(unknown, (one) => leastOf(suspects.get(one), counts));
    return [false, true].flatMap((full) =>
      inTurns([...queues].filter(([name]) => isFull(name) === full).map(([, queue]) => queue)),
    );
  }

  async #judged(
    cluster: string,
    suspects: Listed,
    watched: WatchedEndpoints,
    judgement: Judgement,
  ): Promise<void> {
    const { clock } = this.#options;
    if (judgement.silent === "uplink") this.#options.prober.setUplink(true);
    if (!("endpoints" in judgement) || this.#options.stop.aborted) return;
    const { silent, endpoints } = judgement;
    const whole = this.#options.verdicts.ofCluster(cluster);
    if (silent === "cluster" && whole !== undefined) {
      whole.except = judgement.except;
      await this.#join(whole, watched.byCluster(endpoints).get(cluster) ?? new Map());
      this.#options.report();
      return;
    }
    const now = clock.now();
    const counts = this.#options.verdicts.byNamespace("endpoint");
    const propose = (scope: Verdict["scope"], namespace: string, all: readonly TcpEndpoint[]) =>
      this.#options.verdicts.propose(scope, { cluster, namespace }, all, now);
    const proposed =
      silent === "cluster"
        ? [
            {
              ...propose("cluster", watched.ownerOf(cluster), endpoints),
              except: judgement.except,
            },
          ]
        : endpoints.map((one) => propose("endpoint", leastOf(suspects.get(one), counts), [one]));
    try {
      for (const verdict of proposed) if (this.#hasRoom(verdict)) await this.#begin(verdict);
    } finally {
      // Some may have begun, or been replaced, before one failed.
      this.#options.report();
    }
  }

  /** False if its namespace has enough. It is no suspect for a while then. */
  #hasRoom({ scope, namespace, endpoints }: Verdict): boolean {
    if (namespace === "") return true;
    const count = this.#options.verdicts.byNamespace(scope).get(namespace) ?? 0;
    if (count < MOST_OF_NAMESPACE) return true;
    this.#options.events.limited(namespace, MOST_OF_NAMESPACE);
    this.#examiner.clear([...endpoints.values()]);
    return false;
  }

  async #begin(verdict: Verdict): Promise<void> {
    const { clock, evidence, events, random } = this.#options;
    const replaced = this.#options.verdicts.within(verdict);
    for (const one of replaced) this.#options.ends.ended(one, "cluster-silent");
    await evidence.remove(replaced.flatMap(({ endpoints }) => [...endpoints.values()]));
    // First in the kernel: what it lacks counts as answered.
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
    verdict.probeAt = clock.now() + backoff(1, PROBE, random());
    // Two clusters that list the same endpoint may be examined at once.
    if (this.#options.verdicts.begin(verdict)) events.silent(verdict);
  }

  /** Clients call these endpoints although their cluster is silent: if one answers, the cluster is not. */
  async #join(verdict: Verdict, endpoints: Listed): Promise<void> {
    const { clock, evidence } = this.#options;
    const room = MOST_ENDING - verdict.endpoints.size;
    const others = [...endpoints]
      .filter(([, namespaces]) => !isOnlyOf(namespaces, verdict.except))
      .map(([one]) => one)
      .filter((one) => !verdict.endpoints.has(endpointName(one)));
    const joining = new Map(others.slice(0, room).map((one) => [endpointName(one), one]));
    if (joining.size === 0) return;
    const rest = expiryOf(verdict) - clock.now();
    await evidence.add(elementsOf({ ...verdict, endpoints: joining }, rest));
    for (const [name, one] of joining) verdict.endpoints.set(name, one);
  }
}
