import type { Clock } from "../../common/clock.ts";
import type { Silence } from "../model/silence.ts";
import { ENOUGH_PROBES } from "./clusters.ts";
import type { Answered, TcpEndpoint } from "./evidence.ts";
import type { ProbeLog } from "./probe-log.ts";
import { endpointName } from "./verdict.ts";
import type { Verdicts } from "./verdicts.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** Endpoints that are probed beside suspects at once: of their cluster, of their groups, and of other groups that answered lately. */
const MOST = { samples: ENOUGH_PROBES, siblings: 4, witnesses: 3 };
/** Groups that were never calibrated: where so many do not answer, their cluster does not. */
const ENOUGH_GROUPS = 4;
/** Milliseconds for which an accepted probe shows that a group is alive whose clients are not admitted. */
const WITNESS_MS = 5_000;
/** Answers among which witnesses are looked for. */
const MOST_ANSWERED = 256;

/** What samples depend on. */
export interface SamplesOptions {
  readonly clock: Pick<Clock, "now">;
  readonly probes: ProbeLog;
  readonly verdicts: Verdicts;
  readonly random: () => number;
}

/** Which endpoints are probed beside suspects, and what their results tell. */
export class Samples {
  readonly #options: SamplesOptions;

  constructor(options: SamplesOptions) {
    this.#options = options;
  }

  /**
   * Others of the suspects' groups at random, where probes work: the next call of a slow client must not go to one that is as dead. `ofStrangers`: only clients that are
   * not admitted call the suspects. Then those that have accepted a probe before are witnesses, and needed only if none has done so lately.
   */
  siblingsOf(
    others: readonly TcpEndpoint[],
    groups: readonly Group[],
    watched: WatchedEndpoints,
    ofStrangers: boolean,
  ): TcpEndpoint[] {
    const { clock, probes, random } = this.#options;
    const taken = new Set(others.map(endpointName));
    const acceptedAt = (one: TcpEndpoint) =>
      probes.records.get(endpointName(one))?.accepted ?? Number.NEGATIVE_INFINITY;
    const since = clock.now() - WITNESS_MS;
    const siblings = groups.flatMap((group) => {
      const reach = probes.reachOf(group);
      if (reach !== "works" && (reach !== "assumed" || ofStrangers)) return [];
      const free = [...group.members.values()].filter(
        (one) =>
          !taken.has(endpointName(one)) &&
          !probes.isClosed(one) &&
          watched.mayProbe(group.cluster, one),
      );
      if (!ofStrangers) return chosen(free, MOST.siblings, random);
      const all = [...group.members.values()];
      if (all.some((one) => acceptedAt(one) > since)) return [];
      const open = free.filter((one) => Number.isFinite(acceptedAt(one)));
      const witnesses = chosen(open, MOST.siblings, random);
      const rest = free.filter((one) => !open.includes(one));
      return [...witnesses, ...chosen(rest, MOST.siblings - witnesses.length, random)];
    });
    return siblings.slice(0, MOST.siblings);
  }

  /** Others of a cluster, without groups that probes seem not to reach, and enough without those of any one namespace. */
  of(
    cluster: string,
    suspects: readonly TcpEndpoint[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): TcpEndpoint[] {
    const { probes, verdicts } = this.#options;
    const namespaces = watched.isDeclared(cluster) ? 1 : watched.namespacesOf(cluster);
    const more = namespaces < 2 ? 0 : Math.ceil(MOST.samples / (namespaces - 1));
    // Another port of a suspect is another server.
    const except = new Set([...suspects.map(endpointName), ...namesIn(verdicts.silence)]);
    const witnesses = this.#witnessesOf(cluster, suspects, answered, watched);
    for (const one of witnesses) except.add(endpointName(one));
    const names = new Set(answered.map(endpointName));
    const samples = watched
      .sample(cluster, MOST.samples + more - witnesses.length, except)
      .filter((one) => !probes.isClosed(one))
      .filter((one) => watched.groupsOf([one]).some((group) => probes.mayReach(group, names)));
    return [...witnesses, ...samples];
  }

  /** Of other groups that have answered a client and a probe, one endpoint each, the latest first: they tell a dead cluster from a blocked Service. */
  #witnessesOf(
    cluster: string,
    suspects: readonly TcpEndpoint[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): TcpEndpoint[] {
    const { probes, verdicts } = this.#options;
    const own = new Set(watched.groupsOf(suspects).map(({ name }) => name));
    const silent = new Set(namesIn(verdicts.silence));
    const latest = answered.toSorted((a, b) => a.age - b.age).slice(0, MOST_ANSWERED);
    const groups = watched
      .groupsOf(latest)
      .filter((one) => one.cluster === cluster && !own.has(one.name))
      .filter((one) => probes.reachOf(one) === "works");
    const found = groups.flatMap(({ members }) => {
      const one = latest.find((each) => members.has(endpointName(each)) && !probes.isClosed(each));
      const isFree = one && !silent.has(endpointName(one)) && watched.mayProbe(cluster, one);
      return isFree ? [{ address: one.address, port: one.port, age: one.age }] : [];
    });
    const byName = new Map(found.map((one) => [endpointName(one), one]));
    const inOrder = [...byName.values()].toSorted((a, b) => a.age - b.age);
    return inOrder.slice(0, MOST.witnesses).map(({ address, port }) => ({ address, port }));
  }

  /**
   * Samples that tell a dead cluster from a blocked Service. A group that was never calibrated may not admit nodes: it is a witness only if two calibrated groups, or
   * several such groups, do not answer either.
   */
  tellingOf(
    groups: readonly Group[],
    suspects: readonly TcpEndpoint[],
    samples: readonly TcpEndpoint[],
  ): readonly TcpEndpoint[] {
    const { probes } = this.#options;
    const has = (group: Group, all: readonly TcpEndpoint[]) =>
      all.some((one) => group.members.has(endpointName(one)));
    const isSilent = ({ members }: Group) =>
      [...members.keys()].some((name) => probes.records.get(name)?.result === "silent");
    const known = groups.filter((one) => has(one, suspects) || probes.reachOf(one) === "works");
    const others = groups.filter((one) => !known.includes(one) && isSilent(one));
    const silent = known.filter((one) => probes.reachOf(one) === "works" && isSilent(one));
    if (silent.length > 1 || others.length >= ENOUGH_GROUPS) return samples;
    return samples.filter((one) => known.some((group) => has(group, [one])));
  }
}

/** Names of the endpoints with a verdict. */
export function namesIn({ endpoints }: Silence): string[] {
  return [...endpoints].flatMap(([address, ports]) =>
    [...ports.keys()].map((port) => endpointName({ address, port })),
  );
}

/** Some of these, at random. */
function chosen<One>(all: readonly One[], count: number, random: () => number): One[] {
  const rest = [...all];
  const found: One[] = [];
  while (found.length < count && rest.length > 0)
    found.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return found;
}
