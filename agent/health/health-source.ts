import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/sleep.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import type { Evidence, TcpEndpoint, Waiting } from "./evidence.ts";
import { Examiner, isLate } from "./examiner.ts";
import type { HealthEvents, VerdictEnd } from "./health-events.ts";
import { isOnlyOf, type Judgement, type ProbeResult, soleOf } from "./judge.ts";
import { inTurns, leastOf, rarestFirst } from "./turns.ts";
import { endpointName, type Verdict } from "./verdict.ts";
import { Verdicts } from "./verdicts.ts";
import type { Listed, WatchedEndpoints } from "./watched-endpoints.ts";

/** What the source needs. */
export interface HealthOptions {
  readonly evidence: Evidence;
  /** The endpoints of the facts as they are now; undefined until they were listed. */
  readonly watched: () => WatchedEndpoints | undefined;
  /** Connects to an endpoint. Never rejects. */
  readonly probe: (endpoint: TcpEndpoint) => Promise<ProbeResult>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: HealthEvents;
}

/** Milliseconds between two looks at the kernel's evidence, and while an answer is late. */
const LOOK_MS = 500;
const SOON_MS = 200;
/** Milliseconds between two looks whether the kernel still collects it, and after failures. */
const INSTALL_MS = 5_000;
const RETRY: BackoffBounds = { min: 5_000, max: 300_000 };
/** Milliseconds between two probes of a verdict. */
const PROBE: BackoffBounds = { min: 1_000, max: 30_000 };
/** Verdicts of one cluster that are probed at once. */
const MOST_PROBED = 4;
/** Endpoints of which each ends the verdict on their cluster. */
const MOST_ENDING = 64;
/**
 * Verdicts on endpoints of one namespace, whose slices may list any number, and on clusters that only its slices name: each is probed every 30 s at least.
 */
const MOST_OF_NAMESPACE = 64;

/**
 * Finds endpoints that stop answering, and tells them as a fact: the kernel's evidence shows suspects, an examination finds what is silent, and an answer to any
 * connection, or to a probe, ends that. The kernel's set `silent` is its memory: a restart forgets no verdict.
 */
export class HealthSource implements Source {
  readonly name = "health";
  readonly #options: HealthOptions;
  readonly #examiner: Examiner;
  readonly #verdicts = new Verdicts();
  readonly #stop = new AbortController();
  /** Examinations and probes under way. */
  readonly #underWay = new Set<Promise<void>>();
  #report: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #installAt = Number.NEGATIVE_INFINITY;
  #isWatching = false;
  #failures = 0;
  #isUplinkSilent = false;

  constructor(options: HealthOptions) {
    this.#options = options;
    const { clock, random, evidence } = options;
    const probe = (endpoint: TcpEndpoint) => this.#probe(endpoint);
    const waiting = () => evidence.waiting();
    const answering = (within: number) => evidence.answering(within);
    this.#examiner = new Examiner({ probe, waiting, answering, clock, random });
  }

  start(events: SourceEvents): void {
    this.#report = () => events.silenceChanged(this.#verdicts.silence, this.#options.clock.now());
    this.#running ??= this.#run(events);
  }

  /** Probes no more. The kernel keeps the verdicts. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(events: SourceEvents): Promise<void> {
    const { clock, evidence } = this.#options;
    const { signal } = this.#stop;
    // The agent does not wait for evidence: without it, nothing is silent.
    this.#verdicts.restore(await evidence.silent().catch(() => []), clock.now());
    for (const verdict of this.#verdicts.all) this.#options.events.silent(verdict);
    if (this.#verdicts.any) this.#report();
    events.listed();
    while (!signal.aborted) {
      const pause = await this.#look().catch((error) => this.#failed(error));
      await sleep(clock, pause, signal);
    }
  }

  /** Returns the milliseconds until the next look. */
  async #look(): Promise<number> {
    const { clock, evidence, events } = this.#options;
    const watched = this.#options.watched();
    if (watched === undefined) return LOOK_MS;
    if (clock.now() >= this.#installAt) {
      this.#installAt = clock.now() + INSTALL_MS;
      this.#isWatching = watched.any;
      if (this.#isWatching) await this.#install();
      else await this.#uninstall();
    }
    if (!this.#isWatching) return LOOK_MS;
    const waiting = await evidence.waiting();
    await this.#endDropped(watched);
    if (this.#failures > 0) events.unavailable(undefined);
    this.#failures = 0;
    await this.#suspect(waiting, watched);
    for (const verdict of this.#verdicts.due(clock.now(), MOST_PROBED)) {
      verdict.probeAt = Number.POSITIVE_INFINITY;
      this.#follow(this.#revisit(verdict, watched));
    }
    return waiting.some(isLate) ? SOON_MS : LOOK_MS;
  }

  /** True if the table was not there, such as after `nft flush ruleset`, or another one: it has the verdicts again. */
  async #install(): Promise<boolean> {
    const { clock, evidence } = this.#options;
    if (!(await evidence.install(this.#stop.signal))) return false;
    for (const one of this.#verdicts.all) {
      const rest = expiryOf(one) - clock.now();
      if (rest > 0) await evidence.add(elementsOf(one, rest));
    }
    return true;
  }

  /** Nothing is watched: there is nothing to remember. A table that stays, because it cannot be accessed, does no harm. */
  async #uninstall(): Promise<void> {
    for (const verdict of this.#verdicts.all) this.#ended(verdict, "expired");
    this.#setUplink(false);
    await this.#options.evidence.uninstall().catch(() => 0);
  }

  #failed(error: unknown): number {
    const { clock, events, random } = this.#options;
    // A program that was stopped with the agent.
    if (this.#stop.signal.aborted) return 0;
    this.#installAt = Number.NEGATIVE_INFINITY;
    events.unavailable(error);
    // The kernel cannot be asked which have expired.
    for (const verdict of this.#verdicts.all) {
      if (expiryOf(verdict) <= clock.now()) this.#ended(verdict, "expired");
    }
    return backoff(++this.#failures, RETRY, random());
  }

  /** Ends verdicts that the kernel has dropped. */
  async #endDropped(watched: WatchedEndpoints): Promise<void> {
    const { clock, evidence } = this.#options;
    const verdicts = this.#verdicts.all;
    if (verdicts.length === 0) return;
    const found = await evidence.silent();
    const dropped = this.#verdicts.dropped(verdicts, found);
    if (dropped.length === 0 || (await this.#install())) return;
    for (const verdict of dropped) {
      const hasExpired = clock.now() >= expiryOf(verdict) - LOOK_MS;
      if (hasExpired) await this.#end(verdict, "expired");
      else if (verdict.endpoints.size === 0) continue;
      else if (clock.now() >= holdEnd(verdict))
        await this.#answered(verdict, missingOf(verdict, found), watched);
      else await this.#hold(verdict);
    }
  }

  async #suspect(waiting: readonly Waiting[], watched: WatchedEndpoints): Promise<void> {
    const suspects = this.#examiner.suspects(waiting);
    if (suspects.length === 0) {
      if (!waiting.some(isLate)) this.#setUplink(false);
      return;
    }
    const byCluster = watched.byCluster(suspects);
    const listed = new Set([...byCluster.values()].flatMap((members) => [...members.keys()]));
    this.#examiner.clear(suspects.filter((one) => !listed.has(one)));
    // An examination that ends meanwhile makes room for the first of the next look, not for those behind it.
    let hasRoom = true;
    for (const [cluster, members] of rarestFirst(byCluster)) {
      hasRoom &&= !this.#examiner.isFull;
      const whole = this.#verdicts.ofCluster(cluster);
      if (whole !== undefined) await this.#join(whole, members);
      const next = this.#inTurns(cluster, members);
      if (next.length === 0 || !hasRoom) continue;
      const found = (one: Judgement) => this.#judged(cluster, members, watched, one);
      const known = this.#verdicts.silence;
      const examination = this.#examiner.examine(cluster, next, watched, known, found);
      if (examination !== undefined) this.#follow(examination);
    }
  }

  /**
   * Those without a verdict. Namespaces take turns, those with enough verdicts last: one with thousands of silent endpoints does not delay others.
   */
  #inTurns(cluster: string, suspects: Listed): TcpEndpoint[] {
    const unknown = [...suspects]
      .filter(([one, namespaces]) => !this.#verdicts.on(one, cluster, namespaces))
      .map(([one]) => one);
    const counts = this.#verdicts.byNamespace("endpoint");
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
    if (judgement.silent === "uplink") this.#setUplink(true);
    if (!("endpoints" in judgement) || this.#stop.signal.aborted) return;
    const { silent, endpoints } = judgement;
    const whole = this.#verdicts.ofCluster(cluster);
    if (silent === "cluster" && whole !== undefined) {
      whole.except = judgement.except;
      await this.#join(whole, watched.byCluster(endpoints).get(cluster) ?? new Map());
      this.#report();
      return;
    }
    const now = clock.now();
    const counts = this.#verdicts.byNamespace("endpoint");
    const propose = (scope: Verdict["scope"], namespace: string, all: readonly TcpEndpoint[]) =>
      this.#verdicts.propose(scope, { cluster, namespace }, all, now);
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
      this.#report();
    }
  }

  /** False if its namespace has enough. It is no suspect for a while then. */
  #hasRoom({ scope, namespace, endpoints }: Verdict): boolean {
    if (namespace === "") return true;
    const count = this.#verdicts.byNamespace(scope).get(namespace) ?? 0;
    if (count < MOST_OF_NAMESPACE) return true;
    this.#options.events.limited(namespace, MOST_OF_NAMESPACE);
    this.#examiner.clear([...endpoints.values()]);
    return false;
  }

  async #begin(verdict: Verdict): Promise<void> {
    const { clock, evidence, events, random } = this.#options;
    const replaced = this.#verdicts.within(verdict);
    for (const one of replaced) this.#ended(one, "cluster-silent");
    await evidence.remove(replaced.flatMap(({ endpoints }) => [...endpoints.values()]));
    // First in the kernel: what it lacks counts as answered.
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
    verdict.probeAt = clock.now() + backoff(1, PROBE, random());
    // Two clusters that list the same endpoint may be examined at once.
    if (this.#verdicts.begin(verdict)) events.silent(verdict);
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

  /** Something has answered, but too early: it is asked again when the verdict may end. */
  async #hold(verdict: Verdict): Promise<void> {
    const { clock, evidence } = this.#options;
    verdict.probeAt = holdEnd(verdict);
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
  }

  /** Probes what is silent, of a cluster any endpoint. */
  async #revisit(verdict: Verdict, watched: WatchedEndpoints): Promise<void> {
    const { clock, random } = this.#options;
    const { cluster, scope, endpoints } = verdict;
    const { except } = verdict;
    const [sample] = scope === "cluster" ? watched.sample(cluster, 1, new Set(), except) : [];
    const [first] = endpoints.values();
    const target = sample ?? first;
    const result = target === undefined ? "unknown" : await this.#probe(target);
    // A refusal does not end it: where a cluster has booted, servers start after the network.
    if (result === "accepted" && target !== undefined && clock.now() >= holdEnd(verdict)) {
      await this.#answered(verdict, [target], watched);
      return;
    }
    const pause = backoff(++verdict.probes, PROBE, random());
    verdict.probeAt = result === "accepted" ? holdEnd(verdict) : clock.now() + pause;
  }

  /**
   * Endpoints of what is silent have answered. A verdict on a cluster ends if they are certainly its own, or several namespaces list them: one alone may list what always
   * answers, and so ends it for itself. Another endpoint is probed at once then.
   */
  async #answered(
    verdict: Verdict,
    endpoints: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
  ): Promise<void> {
    const { cluster, scope } = verdict;
    const listed = watched.byCluster(endpoints).get(cluster) ?? new Map<TcpEndpoint, Set<string>>();
    const sole = soleOf([...listed.values(), new Set(verdict.except ? [verdict.except] : [])]);
    const isTrusted = watched.isDeclared(cluster) || watched.namespacesOf(cluster) < 2;
    if (scope === "endpoint" || isTrusted || (listed.size > 0 && sole === "")) {
      await this.#end(verdict, "answered");
      return;
    }
    for (const one of endpoints) verdict.endpoints.delete(endpointName(one));
    verdict.except = sole;
    [verdict.probes, verdict.probeAt] = [0, this.#options.clock.now()];
    this.#report();
  }

  async #probe(endpoint: TcpEndpoint): Promise<ProbeResult> {
    const result = await this.#options.probe(endpoint);
    this.#options.events.probed(result);
    if (result === "accepted" || result === "refused") this.#setUplink(false);
    return result;
  }

  /** The other endpoints of a verdict on a cluster are dropped from the kernel with it. */
  async #end(verdict: Verdict, why: VerdictEnd): Promise<void> {
    this.#ended(verdict, why);
    await this.#options.evidence.remove([...verdict.endpoints.values()]);
  }

  #ended(verdict: Verdict, why: VerdictEnd): void {
    const { clock, events } = this.#options;
    const now = clock.now();
    if (!this.#verdicts.end(verdict, now)) return;
    events.ended(verdict, why, now - verdict.since);
    // What follows is reported with the verdict on the cluster.
    if (why !== "cluster-silent") this.#report();
  }

  #setUplink(isSilent: boolean): void {
    if (isSilent === this.#isUplinkSilent) return;
    this.#isUplinkSilent = isSilent;
    this.#options.events.uplink(isSilent);
  }

  #follow(work: Promise<void>): void {
    const followed = work
      .catch((error) => void this.#failed(error))
      .finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }
}

/** The endpoints of a verdict that the kernel has dropped. */
function missingOf({ endpoints }: Verdict, found: readonly TcpEndpoint[]): TcpEndpoint[] {
  const present = new Set(found.map(endpointName));
  return [...endpoints].filter(([name]) => !present.has(name)).map(([, one]) => one);
}

function holdEnd({ since, terms }: Verdict): number {
  return since + terms.hold;
}

function expiryOf({ since, terms }: Verdict): number {
  return since + terms.expires;
}

function elementsOf({ cluster, scope, endpoints }: Verdict, expires: number) {
  const isWhole = scope === "cluster";
  return [...endpoints.values()].map((one) => ({ ...one, cluster, isWhole, expires }));
}
