import { type ClusterState, clusterState, ENOUGH_PROBES, type Probed } from "./clusters.ts";
import type { Finding } from "./evaluate.ts";
import type { Answered, Overdue, TcpEndpoint } from "./evidence.ts";
import { namesIn, Samples } from "./samples.ts";
import { listedOf, openInTurns, rarestFirst } from "./turns.ts";
import { endpointName } from "./verdict.ts";
import { MOST_KEPT, type VerdictBegins, type VerdictBeginsOptions } from "./verdict-begins.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** What examinations need. */
export interface ExaminationsOptions
  extends Pick<VerdictBeginsOptions, "clock" | "probes" | "random" | "report" | "verdicts"> {
  readonly begins: VerdictBegins;
  /** Follows work in progress, which may reject. */
  readonly follow: (work: Promise<unknown>) => void;
  readonly stop: AbortSignal;
}

/** Endpoints of a cluster that are probed at once. */
const MOST_SUSPECTS = 16;
/** Milliseconds for which an answer to a client shows that a cluster is not silent, if suspects owe theirs for longer. */
const LATELY_MS = 5_000;
/** Milliseconds without an answer after which earlier ones say nothing: an overloaded endpoint answers some SYNs, and owes answers to others. */
const LATE_MS = 1_250;
/** Clusters that are examined at once. */
const MOST_EXAMINED = 8;
/** Milliseconds for which an endpoint that does not answer clients, but the node, is probed without others of its cluster. */
const CLOSED_MS = 30_000;
/** Names that `keepUntil` keeps. */
const MOST_NAMES = 4_096;

/** Probes of a cluster: of endpoints that owe answers, and of others. */
interface Examination {
  /** When its probes began. */
  readonly begun: number;
  /** Since when the suspects owe answers, in milliseconds of the clock. */
  readonly since: number;
  /** True if only clients that were never answered call the suspects. */
  readonly isOfStrangers: boolean;
  readonly suspects: readonly TcpEndpoint[];
  readonly samples: readonly TcpEndpoint[];
}

/** Probes what owes answers, and others of its cluster to compare with, and begins verdicts on clusters of which nothing answers. */
export class Examinations {
  readonly #options: ExaminationsOptions;
  readonly #samples: Samples;
  /** By cluster, while its probes are under way and until they are evaluated. */
  readonly #examinations = new Map<string, Examination>();
  /** Endpoints that answer the node, but not some clients, and until when that holds. */
  readonly #closed = new Map<string, number>();

  constructor(options: ExaminationsOptions) {
    this.#options = options;
    this.#samples = new Samples(options);
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#examinations.size > 0;
  }

  has(cluster: string): boolean {
    return this.#examinations.has(cluster);
  }

  /** Begins probes of endpoints that need one, and of others of their cluster to compare with. */
  begin(
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
      // Clients that are not admitted say nothing about a cluster. Where their endpoints admit no nodes either, they are probed again and again, and others come first.
      const telling = listedOf(
        findingsHere.filter((one) => one.reason !== "not-admitted" || !one.isOfStrangers),
      );
      const suspects = openInTurns(cluster, listed, verdicts)
        .filter((one) => !probes.isPending(one) && watched.mayProbe(cluster, one))
        .toSorted((a, b) => Number(telling.has(b)) - Number(telling.has(a)))
        .slice(0, Math.max(0, room));
      if (suspects.length === 0) continue;
      const isNew = suspects.some((one) => telling.has(one) && !this.hasAnsweredBefore(one));
      const hasSamples = isNew && !isExamined && verdicts.ofCluster(cluster) === undefined;
      const samples = hasSamples ? this.#samples.of(cluster, suspects, answered, watched) : [];
      const ofStrangers = suspects.every((one) => !telling.has(one));
      const siblings =
        isNew || ofStrangers
          ? this.#samples.siblingsOf([...suspects, ...samples], groups, watched, ofStrangers)
          : [];
      for (const one of suspects) follow(this.#probeSuspect(one, cluster, groups));
      for (const one of [...samples, ...siblings])
        if (!probes.isPending(one)) follow(probes.probe(one, cluster, watched.groupsOf([one])));
      if (hasSamples) {
        const names = new Set(suspects.map(endpointName));
        const owing = overdue.filter((one) => names.has(endpointName(one)));
        const age = Math.max(0, ...owing.map((one) => one.age));
        const begun = this.#options.clock.now();
        const since = begun - Math.min(age, LATELY_MS);
        const isOfStrangers = findingsHere.every((one) => one.isOfStrangers);
        this.#examinations.set(cluster, { begun, since, isOfStrangers, suspects, samples });
      }
    }
  }

  /** True if an endpoint has answered the node while it did not answer clients: it is probed alone, because the paths of some clients to it may be closed for long. */
  hasAnsweredBefore(endpoint: TcpEndpoint): boolean {
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

  /** Evaluates examinations whose probes have ended. */
  async conclude(
    overdue: readonly Overdue[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): Promise<void> {
    const latest = this.#latestOf(overdue, answered);
    const { probes } = this.#options;
    for (const [cluster, examination] of this.#examinations) {
      const all = [...examination.suspects, ...examination.samples];
      // One that is called all the time may be probed again already.
      const isMissing = (one: TcpEndpoint) =>
        probes.isPending(one) && probes.probedAt(one) < examination.begun;
      if (all.some(isMissing)) continue;
      this.#examinations.delete(cluster);
      const state = this.#stateOf(cluster, examination, latest, watched);
      if (!state.isSilent || this.#options.stop.aborted) continue;
      const owner = {
        ...{ cluster, namespace: watched.ownerOf(cluster) },
        ...{ isPartial: false, isTrial: examination.isOfStrangers },
      };
      const { clock, begins, report, verdicts } = this.#options;
      const { endpoints, except } = state;
      const proposed = verdicts.propose("cluster", cluster, owner, endpoints, clock.now());
      await begins.begin({ ...proposed, except }, endpoints);
      report();
    }
  }

  /**
   * A cluster of which each endpoint has a verdict is silent as a whole. On a busy node, the last one can be found while an examination is under way that it had
   * answered: nothing is left then that would begin another.
   */
  async concludeFromVerdicts(
    clusters: ReadonlySet<string>,
    watched: WatchedEndpoints,
  ): Promise<void> {
    const { begins, clock, probes, report, verdicts } = this.#options;
    for (const cluster of clusters) {
      const parts = verdicts.all.filter((one) => one.cluster === cluster);
      const isProbed = watched.hasWhole(cluster) && probes.reachOfCluster(cluster) === "works";
      // Without declared ranges, its slices may list the endpoints of another.
      if (
        !isProbed ||
        !watched.isDeclared(cluster) ||
        parts.some(({ isTrial, scope }) => isTrial || scope === "cluster")
      )
        continue;
      const names = new Set(namesIn(verdicts.silence));
      if (watched.countOf(cluster, names, "") > 0) continue;
      const endpoints = parts.flatMap((one) => [...one.endpoints.values()]);
      const silent = endpoints.filter(
        (one) => probes.records.get(endpointName(one))?.result === "silent",
      );
      if (silent.length < Math.min(ENOUGH_PROBES, endpoints.length)) continue;
      const namespace = watched.ownerOf(cluster);
      const owner = { cluster, namespace, isPartial: false, isTrial: false };
      // What was shown silent before stays so.
      const kept = endpoints.slice(0, MOST_KEPT);
      await begins.begin(verdicts.propose("cluster", cluster, owner, kept, clock.now(), []), []);
      report();
    }
  }

  /** Answers that neither a later SYN nor a later probe of the endpoint contradicts: those before a cluster died say nothing about it. */
  #latestOf(overdue: readonly Overdue[], answered: readonly Answered[]): Answered[] {
    const { clock, probes } = this.#options;
    const late = new Set(overdue.filter(({ age }) => age >= LATE_MS).map(endpointName));
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
}

/** Keeps a name until a moment. The oldest name is forgotten if there are too many. */
export function keepUntil(all: Map<string, number>, name: string, until: number): void {
  all.delete(name);
  all.set(name, until);
  const [oldest] = all.keys();
  if (all.size > MOST_NAMES && oldest !== undefined) all.delete(oldest);
}
