import { backoff } from "../../common/backoff.ts";
import { type ClusterState, clusterState, isOnlyOf, type Probed } from "./clusters.ts";
import { evaluate, type Finding } from "./evaluate.ts";
import { type Answered, isLate, type Overdue, type TcpEndpoint } from "./evidence.ts";
import { LateAnswers } from "./late-answers.ts";
import { namesIn, Samples } from "./samples.ts";
import { listedOf, openInTurns, rarestFirst } from "./turns.ts";
import { elementsOf, endpointName, expiryOf, type Verdict } from "./verdict.ts";
import { PROBE, type VerdictEnds, type VerdictEndsOptions } from "./verdict-ends.ts";
import { WaitingClients } from "./waiting-clients.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** What a detector needs. */
export interface DetectorOptions extends Omit<VerdictEndsOptions, "install"> {
  readonly ends: VerdictEnds;
  /** Follows work in progress, which may reject. */
  readonly follow: (work: Promise<unknown>) => void;
  readonly stop: AbortSignal;
}

/** Endpoints of a cluster that are probed at once. */
const MOST_SUSPECTS = 4;
/** Milliseconds for which an answer to a client shows that a cluster is not silent, if suspects owe theirs for longer. */
const LATELY_MS = 5_000;
/** Clusters that are examined at once. */
const MOST_EXAMINED = 8;
/** Endpoints of which each ends the verdict on their cluster or group. */
const MOST_ENDING = 64;
/** Verdicts on endpoints and groups of one namespace, whose slices may list any number, and on clusters that only its slices name. */
const MOST_OF_NAMESPACE = 64;
/**
 * Milliseconds for which an endpoint that nobody lists is not considered again, doubled each time: it may be listed again soon, as after an update of its slice. And one
 * whose namespace has too many verdicts.
 */
const SKIPPED_MS = { unlisted: { min: 1_000, max: 10_000 }, limited: 30_000 };
/** Milliseconds for which an endpoint that does not answer clients, but the node, is probed without others of its cluster. */
const CLOSED_MS = 30_000;
/** Endpoints of which either is known. */
const MOST_KEPT = 4_096;

/** Probes of a cluster: of endpoints that owe answers, and of others. */
interface Examination {
  /** Since when the suspects owe answers, in milliseconds of the clock. */
  readonly since: number;
  /** True if only clients that were never answered call the suspects. */
  readonly isOfStrangers: boolean;
  readonly suspects: readonly TcpEndpoint[];
  readonly samples: readonly TcpEndpoint[];
}

/** From evidence to verdicts: probes what `evaluate` asks for, and begins the verdicts that it finds. */
export class Detector {
  readonly #options: DetectorOptions;
  readonly #late = new LateAnswers();
  readonly #samples: Samples;
  /** By cluster, while its probes are under way and until they are evaluated. */
  readonly #examinations = new Map<string, Examination>();
  /** Endpoints that are not considered, and until when. */
  readonly #skipped = new Map<string, number>();
  /** Endpoints that nobody listed, and for how long they were skipped. */
  readonly #unlisted = new Map<string, number>();
  /** Endpoints that answer the node, but not some clients, and until when that holds. */
  readonly #closed = new Map<string, number>();
  readonly #waiting = new WaitingClients();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DetectorOptions) {
    this.#options = options;
    this.#samples = new Samples(options);
  }

  /** True if the clients that were answered matter for the next check. */
  needsAnswers(overdue: readonly Overdue[]): boolean {
    return overdue.some(isLate) || this.#late.any || this.#examinations.size > 0;
  }

  /** Evaluates what is overdue. `isDelayed`: answers may not have been counted yet, so that it is only probed. */
  async look(
    found: readonly Overdue[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
    isDelayed = false,
  ): Promise<void> {
    const { clock, probes, verdicts } = this.#options;
    const now = clock.now();
    const overdue = found.filter((one) => (this.#skipped.get(endpointName(one)) ?? now) <= now);
    const groups = this.#groupsOf(overdue.filter(isLate), watched);
    const passed = now - this.#lookedAt;
    this.#lookedAt = now;
    this.#late.observe({ overdue, answered, groups, now, passed });
    this.#waiting.observe(overdue, now);
    if (groups.length > 0) {
      const findings = evaluate({
        ...{ now, overdue, answered, groups, probes: probes.records },
        hasWaited: (one, client) => this.#waiting.hasWaited(one, client, now),
        reachOf: (group) => probes.reachOf(group),
        isLossy: (group) => this.#late.isLossy(group, now),
        hasExpired: (name) =>
          verdicts.hasExpired(name, now) || verdicts.ofGroup(name)?.isPartial === false,
      });
      if (!isDelayed) {
        await this.#join(findings);
        await this.#conclude(found, answered, watched);
        const silent = findings.filter((one) => one.isSilent && !this.#isContradicted(one));
        await this.#beginAll(silent, watched);
      }
      this.#probe(findings, overdue, answered, watched);
    } else if (!isDelayed) await this.#conclude(found, answered, watched);
  }

  #groupsOf(late: readonly Overdue[], watched: WatchedEndpoints): Group[] {
    if (late.length === 0) return [];
    const groups = watched.groupsOf(late);
    const listed = new Set(groups.flatMap(({ members }) => [...members.keys()]));
    const { min, max } = SKIPPED_MS.unlisted;
    for (const name of late.map(endpointName)) {
      const before = this.#unlisted.get(name) ?? min / 2;
      this.#unlisted.delete(name);
      if (listed.has(name)) continue;
      const pause = Math.min(2 * before, max);
      keepUntil(this.#unlisted, name, pause);
      keepUntil(this.#skipped, name, this.#options.clock.now() + pause);
    }
    return groups;
  }

  /** Begins probes of endpoints that need one, and of others of their cluster to compare with. */
  #probe(
    findings: readonly Finding[],
    overdue: readonly Overdue[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): void {
    const { follow, probes, verdicts } = this.#options;
    const wanted = findings.filter(({ wantsProbe }) => wantsProbe);
    const byCluster = Map.groupBy(wanted, ({ group }) => group.cluster);
    const lists = new Map([...byCluster].map(([cluster, all]) => [cluster, listedOf(all)]));
    for (const [cluster, listed] of rarestFirst(lists)) {
      const isExamined = this.#examinations.has(cluster);
      if (!isExamined && this.#examinations.size >= MOST_EXAMINED) return;
      const findingsHere = byCluster.get(cluster) ?? [];
      const groups = findingsHere.map(({ group }) => group);
      const room = MOST_SUSPECTS - probes.pendingOf(cluster);
      const suspects = openInTurns(cluster, listed, verdicts, MOST_OF_NAMESPACE)
        .filter((one) => !probes.isPending(one) && watched.mayProbe(cluster, one))
        .slice(0, Math.max(0, room));
      if (suspects.length === 0) continue;
      // Clients that are not admitted say nothing about a cluster.
      const telling = listedOf(findingsHere.filter(({ reason }) => reason !== "not-admitted"));
      const isNew = suspects.some((one) => telling.has(one) && !this.#hasAnsweredBefore(one));
      const hasSamples = isNew && !isExamined && verdicts.ofCluster(cluster) === undefined;
      const samples = hasSamples ? this.#samples.of(cluster, suspects, answered, watched) : [];
      const siblings = isNew
        ? this.#samples.siblingsOf([...suspects, ...samples], groups, watched)
        : [];
      for (const one of suspects) follow(this.#probeSuspect(one, cluster, groups));
      for (const one of [...samples, ...siblings])
        if (!probes.isPending(one)) follow(probes.probe(one, cluster, watched.groupsOf([one])));
      if (hasSamples) {
        const names = new Set(suspects.map(endpointName));
        const owing = overdue.filter((one) => names.has(endpointName(one)));
        const age = Math.max(0, ...owing.map((one) => one.age));
        const since = this.#options.clock.now() - Math.min(age, LATELY_MS);
        const isOfStrangers = findingsHere.every((one) => one.isOfStrangers);
        this.#examinations.set(cluster, { since, isOfStrangers, suspects, samples });
      }
    }
  }

  /** Such an endpoint is probed alone: the paths of some clients to it may be closed for long. */
  #hasAnsweredBefore(endpoint: TcpEndpoint): boolean {
    return (this.#closed.get(endpointName(endpoint)) ?? 0) > this.#options.clock.now();
  }

  async #probeSuspect(endpoint: TcpEndpoint, cluster: string, groups: readonly Group[]) {
    const { clock, probes } = this.#options;
    const name = endpointName(endpoint);
    const own = groups.filter(({ members }) => members.has(name));
    const result = await probes.probe(endpoint, cluster, own);
    if (result === "accepted") keepUntil(this.#closed, name, clock.now() + CLOSED_MS);
    else this.#closed.delete(name);
  }

  /** Clients alone say nothing about an endpoint that answers the node, such as one that a tenant lists for a cluster that does not exist. */
  #isContradicted({ reason, endpoints }: Finding): boolean {
    return reason === "clients-unanswered" && endpoints.some((one) => this.#hasAnsweredBefore(one));
  }

  /** All endpoints of a group, except those that a slice of another namespace also lists and no probe has shown silent: no client of this group has tried them. */
  #membersOf(
    { members, namespace }: Group,
    watched: WatchedEndpoints,
    except?: ReadonlySet<string>,
  ): TcpEndpoint[] {
    const { records } = this.#options.probes;
    const all = [...members].filter(([name]) => !except?.has(name)).map(([, one]) => one);
    const others = watched.groupsOf(all).filter((one) => one.namespace !== namespace);
    return all.filter((one) => {
      const name = endpointName(one);
      const isShared = others.some((other) => other.members.has(name));
      return !isShared || records.get(name)?.result === "silent";
    });
  }

  /** Evaluates examinations whose probes have ended. */
  async #conclude(
    overdue: readonly Overdue[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): Promise<void> {
    const latest = this.#latestOf(overdue, answered);
    for (const [cluster, examination] of this.#examinations) {
      const all = [...examination.suspects, ...examination.samples];
      if (all.some((one) => this.#options.probes.isPending(one))) continue;
      this.#examinations.delete(cluster);
      const state = this.#stateOf(cluster, examination, latest, watched);
      if (!state.isSilent || this.#options.stop.aborted) continue;
      await this.#beginWhole(cluster, state, examination.isOfStrangers, watched);
    }
  }

  /** Answers that neither a later SYN nor a later probe of the endpoint contradicts: those before a cluster died say nothing about it. */
  #latestOf(overdue: readonly Overdue[], answered: readonly Answered[]): Answered[] {
    const { clock, probes } = this.#options;
    const late = new Set(overdue.filter(isLate).map(endpointName));
    return answered.filter((one) => {
      const probe = probes.records.get(endpointName(one));
      const isSilentSince = probe?.result === "silent" && probe.begun > clock.now() - one.age;
      return !isSilentSince && !late.has(endpointName(one));
    });
  }

  #stateOf(
    cluster: string,
    { since, suspects, samples }: Examination,
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): ClusterState {
    const { clock, probes, verdicts } = this.#options;
    const silent = new Set(namesIn(verdicts.silence));
    const passed = clock.now() - since;
    const lately = answered.filter(({ age }) => age < passed);
    const listed = watched.byCluster([...suspects, ...samples, ...lately]).get(cluster);
    const namespacesOf = (one: TcpEndpoint) => listed?.get(one) ?? new Set<string>();
    const probed = (endpoint: TcpEndpoint): Probed => {
      const result = probes.records.get(endpointName(endpoint))?.result ?? "unknown";
      return { endpoint, namespaces: namespacesOf(endpoint), result };
    };
    const groups = watched
      .groupsOf([...suspects, ...samples])
      .filter((group) => group.cluster === cluster);
    const telling = this.#samples.tellingOf(groups, suspects, samples);
    return clusterState({
      ...{ suspects: suspects.map(probed), samples: telling.map(probed) },
      answered: lately
        .filter((one) => listed?.has(one))
        .map((endpoint) => ({ endpoint, namespaces: namespacesOf(endpoint) })),
      countWithout: (namespace) => watched.countOf(cluster, silent, namespace),
      isDeclared: watched.isDeclared(cluster),
      reach: watched.hasWhole(cluster) ? probes.reachOfCluster(cluster) : "unknown",
    });
  }

  async #beginWhole(
    cluster: string,
    { endpoints, except }: Extract<ClusterState, { isSilent: true }>,
    isTrial: boolean,
    watched: WatchedEndpoints,
  ): Promise<void> {
    const { clock, verdicts, report } = this.#options;
    const owner = { cluster, namespace: watched.ownerOf(cluster), isTrial };
    const proposed = verdicts.propose("cluster", cluster, owner, endpoints, clock.now());
    await this.#begin({ ...proposed, except });
    report();
  }

  /** Begins verdicts on endpoints and groups. */
  async #beginAll(found: readonly Finding[], watched: WatchedEndpoints): Promise<void> {
    const { clock, report, verdicts } = this.#options;
    const now = clock.now();
    let hasBegun = false;
    try {
      for (const { scope, group, endpoints, shown, except, isTrial } of found) {
        const [first] = endpoints;
        if (first === undefined || this.#isCovered(group, endpoints)) continue;
        const present = verdicts.ofGroup(group.name);
        const members = scope === "group" ? this.#membersOf(group, watched, except) : [];
        // Of a rolling update, or such as another namespace lists, too.
        if (present !== undefined) {
          await this.#widen(present, endpoints, shown, members);
          hasBegun = true;
          continue;
        }
        // All of the cluster may be silent: the other probes end at the same time.
        if (this.#examinations.has(group.cluster)) continue;
        const subject = scope === "group" ? group.name : endpointName(first);
        const owner = { cluster: group.cluster, namespace: group.namespace, isTrial };
        const ending = endpoints.slice(0, MOST_ENDING);
        const proposed = verdicts.propose(scope, subject, owner, ending, now, shown);
        const verdict = { ...proposed, members, isPartial: except !== undefined };
        if (!this.#hasRoom(verdict)) {
          const until = now + SKIPPED_MS.limited;
          for (const name of verdict.endpoints.keys()) keepUntil(this.#skipped, name, until);
          continue;
        }
        await this.#begin(verdict);
        hasBegun = true;
      }
    } finally {
      // Some may have begun, or been replaced, before one failed.
      if (hasBegun || found.length > 0) report();
    }
  }

  /** More endpoints of a group, most of which is silent already. `members`: those that are silent with them. */
  async #widen(
    verdict: Verdict,
    endpoints: readonly TcpEndpoint[],
    shown: ReadonlySet<string>,
    members: readonly TcpEndpoint[],
  ): Promise<void> {
    const { clock, evidence, verdicts } = this.#options;
    const namespaces = new Set([verdict.namespace]);
    const added = endpoints.filter((one) => !verdicts.on(one, verdict.cluster, namespaces));
    verdicts.widen(verdict, [...added, ...members], shown);
    const ending = added.slice(0, Math.max(0, MOST_ENDING - verdict.endpoints.size));
    const named = new Map(ending.map((one) => [endpointName(one), one]));
    const rest = expiryOf(verdict) - clock.now();
    await evidence.add(elementsOf({ ...verdict, endpoints: named }, rest));
    for (const [name, one] of named) verdict.endpoints.set(name, one);
    await evidence.forget(added);
  }

  #isCovered({ cluster, namespace }: Group, endpoints: readonly TcpEndpoint[]): boolean {
    const namespaces = new Set([namespace]);
    return endpoints.every((one) => this.#options.verdicts.on(one, cluster, namespaces));
  }

  /** False if its namespace has enough verdicts. */
  #hasRoom({ scope, namespace }: Verdict): boolean {
    if (namespace === "") return true;
    const kind = scope === "cluster" ? "cluster" : "endpoint";
    const count = this.#options.verdicts.byNamespace(kind).get(namespace) ?? 0;
    if (count < MOST_OF_NAMESPACE) return true;
    this.#options.events.limited(namespace, MOST_OF_NAMESPACE);
    return false;
  }

  async #begin(verdict: Verdict): Promise<void> {
    const { clock, ends, evidence, events, random, verdicts } = this.#options;
    if (verdict.scope === "cluster" && !this.#hasRoom(verdict)) return;
    const replaced = verdicts.within(verdict);
    for (const one of replaced) {
      for (const name of one.shown) verdict.shown.add(name);
      ends.ended(one, "replaced");
    }
    await evidence.remove(replaced.flatMap(({ endpoints }) => [...endpoints.values()]));
    // First in the kernel: what it lacks counts as answered.
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
    await evidence.forget([...verdict.endpoints.values()]);
    verdict.probeAt = clock.now() + backoff(1, PROBE, random());
    if (verdicts.begin(verdict)) events.silent(verdict);
  }

  /** Clients call these endpoints although all of their cluster or group is silent: an answer of each ends that, and those that give none are shown. */
  async #join(findings: readonly Finding[]): Promise<void> {
    const { clock, evidence, report, verdicts } = this.#options;
    for (const { group, endpoints, reason, shown } of findings) {
      if (reason === "too-early") continue;
      const namespaces = new Set([group.namespace]);
      for (const one of endpoints) {
        const verdict = verdicts.on(one, group.cluster, namespaces);
        if (verdict === undefined || verdict.scope === "endpoint") continue;
        const name = endpointName(one);
        if (shown.has(name) && !verdict.shown.has(name)) {
          verdict.shown.add(name);
          report();
        }
        const isRoom = verdict.endpoints.size < MOST_ENDING;
        if (verdict.endpoints.has(name) || !isRoom || isOnlyOf(namespaces, verdict.except))
          continue;
        const rest = expiryOf(verdict) - clock.now();
        await evidence.add(elementsOf({ ...verdict, endpoints: new Map([[name, one]]) }, rest));
        verdict.endpoints.set(name, one);
      }
    }
  }
}

function keepUntil(all: Map<string, number>, name: string, until: number): void {
  all.delete(name);
  all.set(name, until);
  const [oldest] = all.keys();
  if (all.size > MOST_KEPT && oldest !== undefined) all.delete(oldest);
}
