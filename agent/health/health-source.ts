import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import { type Clock, sleep } from "../../common/clock.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import { AnsweredClients } from "./answered-clients.ts";
import { Detector } from "./detector.ts";
import {
  type Answered,
  type Evidence,
  isLate,
  LOOK_MS,
  type Overdue,
  type TcpEndpoint,
} from "./evidence.ts";
import type { HealthEvents } from "./health-events.ts";
import { type Probe, ProbeLog } from "./probe-log.ts";
import { UPLINK_MS, Uplink } from "./uplink.ts";
import { elementsOf, endpointName, expiryOf } from "./verdict.ts";
import { VerdictEnds } from "./verdict-ends.ts";
import { Verdicts } from "./verdicts.ts";
import type { Group, Member, WatchedEndpoints } from "./watched-endpoints.ts";

/** What the source needs. */
export interface HealthOptions {
  readonly evidence: Evidence;
  /** The endpoints of the facts as they are now; undefined until they were listed. */
  readonly watched: () => WatchedEndpoints | undefined;
  readonly probe: Probe;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: HealthEvents;
}

/** Milliseconds between two checks of the kernel's evidence while an answer is late. */
const SOON_MS = 200;
/** Milliseconds: a check that begins later than this was delayed by load on the node, */
const DELAYED_MS = 500;
/** and answers get so many more to arrive before a verdict begins. Probes begin at once: their timers will be late, too. */
const SETTLE_MS = 250;
/** Milliseconds between two checks whether another program has changed the rules; a missing table is noticed by each check of the evidence. */
const INSTALL_MS = 5_000;
/** Milliseconds after failures in a row. What dies meanwhile is found that much later. */
const RETRY: BackoffBounds = { min: LOOK_MS, max: 10_000 };
/** Verdicts of one cluster that are probed at once. */
const MOST_PROBED = 4;

/**
 * Finds endpoints that stop answering, and reports them as a fact: the kernel shows which clients wait, `evaluate` decides, and an answer to any
 * connection, or to a probe, ends a verdict. The kernel's set `silent` is its memory: a restart forgets no verdict.
 */
export class HealthSource implements Source {
  readonly name = "health";
  readonly #options: HealthOptions;
  readonly #verdicts = new Verdicts();
  readonly #answered: AnsweredClients;
  readonly #probes: ProbeLog;
  readonly #detector: Detector;
  readonly #ends: VerdictEnds;
  readonly #uplink = new Uplink();
  readonly #stop = new AbortController();
  /** Aborted when a probe ends, so that its result is evaluated at once. */
  #pause = new AbortController();
  /** Probes in progress. */
  readonly #underWay = new Set<Promise<void>>();
  #report: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #installAt = Number.NEGATIVE_INFINITY;
  #calibrateAt = Number.NEGATIVE_INFINITY;
  #uplinkAt = Number.NEGATIVE_INFINITY;
  #isUplinkSilent = false;
  #isWatching = false;
  #failures = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
    const { clock, events, evidence, probe } = options;
    this.#answered = new AnsweredClients(evidence, clock);
    this.#probes = new ProbeLog(probe, clock, events);
    const shared = {
      ...options,
      verdicts: this.#verdicts,
      probes: this.#probes,
      report: () => this.#report(),
    };
    this.#ends = new VerdictEnds({ ...shared, install: () => this.#install() });
    this.#detector = new Detector({
      ...{ ...shared, ends: this.#ends, stop: this.#stop.signal },
      follow: (work) => this.#follow(work),
    });
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
    let settledAt = clock.now();
    while (!signal.aborted) {
      const isDelayed = clock.now() < settledAt;
      const looked = await this.#look(isDelayed).catch((error) => this.#failed(error));
      const pause = isDelayed ? Math.max(0, settledAt - clock.now()) : looked;
      const due = clock.now() + pause;
      this.#pause = new AbortController();
      await sleep(clock, pause, AbortSignal.any([signal, this.#pause.signal]));
      // The timer that ends a delay may be late, too: each delay is one.
      if (!isDelayed && clock.now() - due > DELAYED_MS) settledAt = clock.now() + SETTLE_MS;
    }
  }

  /** Returns the milliseconds until the next check. `isDelayed`: this one began late. */
  async #look(isDelayed: boolean): Promise<number> {
    const { clock, events } = this.#options;
    const watched = this.#options.watched();
    if (watched === undefined) return LOOK_MS;
    if (clock.now() >= this.#installAt) {
      this.#installAt = clock.now() + INSTALL_MS;
      this.#isWatching = watched.any;
      if (this.#isWatching) await this.#install();
      else await this.#uninstall();
    }
    if (!this.#isWatching) return LOOK_MS;
    const overdue = await this.#overdue();
    await this.#ends.endDropped(watched);
    if (this.#failures > 0) events.unavailable(undefined);
    this.#failures = 0;
    await this.#evaluate(overdue, watched, isDelayed);
    for (const verdict of this.#verdicts.due(clock.now(), MOST_PROBED)) {
      verdict.probeAt = Number.POSITIVE_INFINITY;
      this.#follow(this.#ends.revisit(verdict, watched));
    }
    return overdue.some(isLate) ? SOON_MS : LOOK_MS;
  }

  /** Empty if the table was missing: it is written at once, because what clients lack meanwhile is not seen. */
  async #overdue(): Promise<Overdue[]> {
    const found = await this.#options.evidence.overdue();
    if (found === undefined) await this.#install();
    return found ?? [];
  }

  /** Decides about what is overdue, and now and then whether probes reach what clients reach. */
  async #evaluate(
    overdue: readonly Overdue[],
    watched: WatchedEndpoints,
    isDelayed: boolean,
  ): Promise<void> {
    const { clock, events } = this.#options;
    const now = clock.now();
    const isUplink = this.#verdicts.any && now >= this.#uplinkAt;
    const isNeeded = now >= this.#calibrateAt || isUplink || this.#detector.needsAnswers(overdue);
    const answered = isNeeded ? await this.#answered.read() : [];
    const [verdicts, probes] = [this.#verdicts, this.#probes];
    const follow = (work: Promise<unknown>) => this.#follow(work);
    if (probes.observe(answered, overdue, (group) => this.#detector.isLossy(group)))
      this.#calibrateAt = now;
    verdicts.forgive(answered, now);
    this.#ends.forgive(answered);
    if (now >= this.#calibrateAt) {
      this.#calibrateAt = now + calibrate(answered, watched, probes, follow);
      events.blind(probes.blind);
    }
    const hasGroup = await this.#ends.endAnswered("group", answered, watched);
    const hasCluster = isUplink && (await this.#ends.endAnswered("cluster", answered, watched));
    const left = hasGroup || hasCluster ? await this.#overdue() : overdue;
    await this.#detector.look(left, answered, watched, isDelayed);
    if (!verdicts.any) this.#setUplink(false);
    else if (isUplink) {
      this.#uplinkAt = now + UPLINK_MS;
      const picture = { now, answered, watched, verdicts, probes, follow };
      this.#setUplink(this.#uplink.isSilent({ ...picture, wasSilent: this.#isUplinkSilent }));
    }
  }

  #setUplink(isSilent: boolean): void {
    if (isSilent === this.#isUplinkSilent) return;
    this.#isUplinkSilent = isSilent;
    this.#options.events.uplink(isSilent);
  }

  /** True if the table was missing or changed, for example after `nft flush ruleset`: it has the verdicts again. */
  async #install(): Promise<boolean> {
    const { clock, evidence } = this.#options;
    if (!(await evidence.install(this.#stop.signal))) return false;
    this.#answered.lost();
    for (const one of this.#verdicts.all) {
      const rest = expiryOf(one) - clock.now();
      if (rest > 0) await evidence.add(elementsOf(one, rest));
    }
    return true;
  }

  /** Nothing is watched: there is nothing to remember. A table that stays, because it cannot be accessed, does no harm. */
  async #uninstall(): Promise<void> {
    for (const verdict of this.#verdicts.all) this.#ends.ended(verdict, "expired");
    this.#setUplink(false);
    this.#options.events.blind(new Set());
    await this.#options.evidence.uninstall().catch(() => 0);
  }

  #failed(error: unknown): number {
    const { clock, events, random } = this.#options;
    // A program that was stopped with the agent.
    if (this.#stop.signal.aborted) return 0;
    this.#installAt = Number.NEGATIVE_INFINITY;
    events.unavailable(error);
    // The kernel cannot report which have expired.
    for (const verdict of this.#verdicts.all) {
      if (expiryOf(verdict) <= clock.now()) this.#ends.ended(verdict, "expired");
    }
    return backoff(++this.#failures, RETRY, random());
  }

  #follow(work: Promise<unknown>): void {
    const followed = work
      .then(() => undefined)
      .catch((error) => void this.#failed(error))
      .finally(() => {
        this.#underWay.delete(followed);
        this.#pause.abort();
      });
    this.#underWay.add(followed);
  }
}

/** Milliseconds between two checks for groups to calibrate: while there are groups that never were, and afterwards. */
const CHECK_MS = { first: LOOK_MS, next: 15_000 };
/** Milliseconds since the last answer of an endpoint that is probed for it: each answer is in one check at least. */
const LATELY_MS = CHECK_MS.next + 2 * LOOK_MS;
/** Groups of a cluster, and all groups, that are calibrated at once. */
const MOST_CALIBRATIONS = { ofCluster: 2, all: 32 };

/** Begins calibrations: probes endpoints that have just answered clients. Returns the milliseconds until the next ones are due. */
function calibrate(
  answered: readonly Answered[],
  watched: WatchedEndpoints,
  probes: ProbeLog,
  follow: (work: Promise<unknown>) => void,
): number {
  const latest = answered.filter(({ age }) => age < LATELY_MS);
  const groups = latest.length === 0 ? [] : watched.groupsOf(latest);
  // Looked up by the members of a group: a tenant may have thousands of both.
  const newest = new Map<string, Answered>();
  for (const one of latest) {
    const name = endpointName(one);
    if (one.age < (newest.get(name)?.age ?? Number.POSITIVE_INFINITY)) newest.set(name, one);
  }
  const places = new Map([...newest.keys()].map((name, i) => [name, i]));
  const placeOf = (one: TcpEndpoint) => places.get(endpointName(one)) ?? 0;
  // Policies exempt a pod's own node: a probe from there says nothing about other nodes.
  const mayShow = (cluster: string, one: Member) =>
    places.has(endpointName(one)) && !one.isHere && watched.mayProbe(cluster, one);
  const showing = ({ cluster, members }: Group) =>
    members.values().filter((one) => mayShow(cluster, one));
  const due = probes.due(groups.filter((group) => !showing(group).next().done));
  const perCluster = new Map<string, number>();
  let begun = 0;
  for (const group of due) {
    const count = perCluster.get(group.cluster) ?? 0;
    if (count >= MOST_CALIBRATIONS.ofCluster) continue;
    if (begun >= MOST_CALIBRATIONS.all) break;
    // Each in turn: a node's firewall may reject what others admit. What was contradicted is tried again first.
    const [endpoint] = [...showing(group)]
      .flatMap((one) => newest.get(endpointName(one)) ?? [])
      .filter((one) => probes.isOlder(one))
      .sort((a, b) => placeOf(a) - placeOf(b))
      .sort((a, b) => probes.probedAt(a) - probes.probedAt(b))
      .sort((a, b) => Number(probes.isDoubted(b)) - Number(probes.isDoubted(a)));
    if (endpoint === undefined) continue;
    perCluster.set(group.cluster, count + 1);
    begun++;
    const { address, port } = endpoint;
    const listing = groups.filter(({ members }) => members.has(endpointName(endpoint)));
    follow(probes.calibrate({ address, port }, group.cluster, listing));
  }
  const isNew = due.some((group) => probes.calibratedAt(group) === Number.NEGATIVE_INFINITY);
  return isNew || groups.length === 0 ? CHECK_MS.first : CHECK_MS.next;
}
