import type { Silence, Silent } from "../model/silence.ts";
import { isOnlyOf } from "./clusters.ts";
import type { Answered, SilentEndpoint, TcpEndpoint } from "./evidence.ts";
import { endpointName, Recurrence, type Verdict, type VerdictEnd } from "./verdict.ts";

/** Milliseconds within which verdicts are probed after something has answered. */
const HURRY_MS = 1_000;

/** Verdicts on endpoints and groups of one namespace, whose slices may list any number, and on clusters that only its slices name. */
export const MOST_OF_NAMESPACE = 64;

/** The verdicts at present. Times are the clock's, in milliseconds. */
export class Verdicts {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #recurrence = new Recurrence();
  /** Verdicts on groups, by the names of all their endpoints. */
  readonly #byMember = new Map<string, Verdict>();

  get all(): readonly Verdict[] {
    return [...this.#verdicts.values()];
  }

  /** The number of endpoints that the kernel keeps of them. */
  get kept(): number {
    return this.all.reduce((sum, { endpoints }) => sum + endpoints.size, 0);
  }

  get any(): boolean {
    return this.#verdicts.size > 0;
  }

  /** The verdict on this endpoint, which these namespaces list: alone, with its group, or with all of its cluster. */
  on(endpoint: TcpEndpoint, cluster: string, namespaces: ReadonlySet<string>): Verdict | undefined {
    const whole = this.ofCluster(cluster);
    if (whole !== undefined && !isOnlyOf(namespaces, whole.except)) return whole;
    const name = endpointName(endpoint);
    return this.#verdicts.get(nameOf("endpoint", name)) ?? this.#byMember.get(name);
  }

  /** The verdict on all of a cluster. */
  ofCluster(cluster: string): Verdict | undefined {
    return this.#verdicts.get(nameOf("cluster", cluster));
  }

  /** True if the last verdict on this endpoint or group expired. */
  hasExpired(name: string, now: number): boolean {
    const names = [nameOf("endpoint", name), nameOf("group", name)];
    return names.some((one) => this.#recurrence.hasExpired(one, now));
  }

  /** These clients were answered: an attempt after a verdict that expired has succeeded. */
  forgive(answered: readonly Answered[], now: number): void {
    this.#recurrence.forgive(answered, now);
  }

  /** The number of verdicts of each namespace: on endpoints and groups, or on clusters. */
  byNamespace(of: "cluster" | "endpoint"): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { scope, namespace } of this.all) {
      if ((scope === "cluster") !== (of === "cluster")) continue;
      counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    }
    return counts;
  }

  /** False if its namespace has enough verdicts. */
  hasRoom({ scope, namespace }: Pick<Verdict, "scope" | "namespace">): boolean {
    if (namespace === "") return true;
    const kind = scope === "cluster" ? "cluster" : "endpoint";
    return (this.byNamespace(kind).get(namespace) ?? 0) < MOST_OF_NAMESPACE;
  }

  /** A verdict on these endpoints; it begins with `begin`. `subject`: name of the endpoint, the group or the cluster. `shown`: all of them if absent. */
  propose(
    scope: Verdict["scope"],
    subject: string,
    owner: Pick<Verdict, "cluster" | "namespace" | "isPartial" | "isTrial">,
    endpoints: readonly TcpEndpoint[],
    now: number,
    shown: Iterable<string> = endpoints.map(endpointName),
  ): Verdict {
    const name = nameOf(scope, subject);
    return {
      // The owner may be another verdict, with a name of its own.
      ...{ ...owner, name, scope, since: now, members: [], hasClosed: false },
      terms: this.#recurrence.terms(name, owner, now),
      endpoints: new Map(endpoints.map((one) => [endpointName(one), one])),
      ...{ shown: new Set(shown), answering: new Set() },
      ...{ except: "", probes: 0, probeAt: now },
    };
  }

  /** False if there is one of this name already. */
  begin(verdict: Verdict): boolean {
    if (this.#verdicts.has(verdict.name)) return false;
    this.#verdicts.set(verdict.name, verdict);
    for (const one of verdict.members) this.#byMember.set(endpointName(one), verdict);
    return true;
  }

  /** Endpoints of a verdict on a part of a group have answered: it does not concern them any more. False if none are left. */
  exempt(verdict: Verdict, answered: readonly TcpEndpoint[]): boolean {
    const names = new Set(answered.map(endpointName));
    for (const name of names) {
      verdict.endpoints.delete(name);
      verdict.shown.delete(name);
      if (this.#byMember.get(name) === verdict) this.#byMember.delete(name);
    }
    verdict.members = verdict.members.filter((one) => !names.has(endpointName(one)));
    return verdict.members.length > 0;
  }

  /** The verdict on a group of this endpoint: the kernel has one element for each. */
  groupOn(one: TcpEndpoint): Verdict | undefined {
    return this.#byMember.get(endpointName(one));
  }

  /** More endpoints of its group do not answer. */
  widen(verdict: Verdict, silent: readonly TcpEndpoint[]): void {
    const names = new Map(silent.map((one) => [endpointName(one), one]));
    const added = [...names].filter(([name]) => this.#byMember.get(name) !== verdict);
    verdict.members = [...verdict.members, ...added.map(([, one]) => one)];
    for (const [name] of added) this.#byMember.set(name, verdict);
  }

  /** The verdict on this group. */
  ofGroup(name: string): Verdict | undefined {
    return this.#verdicts.get(nameOf("group", name));
  }

  /** The verdicts that a wider one replaces. */
  within({ scope, cluster, members }: Verdict): Verdict[] {
    if (scope === "cluster") return this.all.filter((one) => one.cluster === cluster);
    const names = members.map((one) => nameOf("endpoint", endpointName(one)));
    return names.flatMap((name) => this.#verdicts.get(name) ?? []);
  }

  /** Something of this cluster has answered: the rest of it, and other clusters, are probed within a second. */
  hurry(cluster: string, now: number, random: () => number): void {
    for (const one of this.all) {
      if (one.cluster !== cluster && one.scope !== "cluster") continue;
      if (Number.isFinite(one.probeAt))
        one.probeAt = Math.min(one.probeAt, now + HURRY_MS * random());
    }
  }

  /** Clusters that are silent, as in a fact. */
  get clusters(): Silence["clusters"] {
    const whole = this.all.filter(({ scope }) => scope === "cluster");
    return new Map(whole.map(({ cluster, except }) => [cluster, except]));
  }

  /** Verdicts of an earlier run, which the kernel has kept. */
  restore(found: readonly SilentEndpoint[], now: number): void {
    const present = found.filter(({ isExpired }) => !isExpired);
    for (const [subject, all] of Map.groupBy(present, subjectOf)) {
      const [first] = all;
      if (first === undefined) continue;
      const { cluster, group, scope, isPartial, isTrial } = first;
      const [namespace = ""] = group.split("/");
      const endpoints = all.map(({ address, port }) => ({ address, port }));
      const shown = all.filter(({ isShown }) => isShown).map(endpointName);
      const owner = { cluster, namespace, isPartial, isTrial };
      const proposed = this.propose(scope, subject, owner, endpoints, now, shown);
      const members = scope === "group" ? endpoints : [];
      const expires = Math.min(...all.map((one) => one.expires));
      this.begin({ ...proposed, members, terms: { ...proposed.terms, expires } });
    }
  }

  /** Those of these verdicts that the kernel has dropped, because an endpoint has answered or because they have expired. */
  dropped(of: readonly Verdict[], found: readonly SilentEndpoint[]): Verdict[] {
    const present = new Set(found.map(endpointName));
    return of.filter(
      ({ name, endpoints }) =>
        this.#verdicts.has(name) &&
        (endpoints.size === 0 || [...endpoints.keys()].some((one) => !present.has(one))),
    );
  }

  /** Ends a verdict; false if it has ended already. */
  end(verdict: Verdict, why: VerdictEnd, now: number): boolean {
    if (this.#verdicts.get(verdict.name) !== verdict) return false;
    this.#verdicts.delete(verdict.name);
    for (const one of verdict.members) this.#byMember.delete(endpointName(one));
    this.#recurrence.ended(verdict, why, now);
    return true;
  }

  /** Those whose next probe is due, the longest first, so that no more than `most` of a cluster are under way. */
  due(now: number, most: number): Verdict[] {
    const room = new Map<string, number>();
    const take = ({ cluster }: Verdict) => {
      const left = room.get(cluster) ?? most;
      room.set(cluster, left - 1);
      return left > 0;
    };
    for (const one of this.all) if (one.probeAt === Number.POSITIVE_INFINITY) take(one);
    const due = this.all.filter(({ probeAt }) => probeAt <= now);
    return due.toSorted((a, b) => a.probeAt - b.probeAt).filter(take);
  }

  /** As a fact. */
  get silence(): Silence {
    const endpoints = new Map<string, Map<number, Silent>>();
    const held = new Set<string>();
    for (const { scope, cluster, members, endpoints: all, shown, answering } of this.all) {
      if (scope === "cluster") {
        if (answering.size > 0) held.add(cluster);
        continue;
      }
      for (const one of [...all.values(), ...members]) {
        const ports = endpoints.get(one.address) ?? new Map<number, Silent>();
        endpoints.set(one.address, ports);
        const name = endpointName(one);
        if (shown.has(name) && !answering.has(name)) ports.set(one.port, "shown");
        else if (!ports.has(one.port)) ports.set(one.port, "suspected");
      }
    }
    return { endpoints, clusters: this.clusters, held };
  }
}

/** What a verdict on this endpoint concerns: the cluster, the group or the endpoint. */
function subjectOf({ scope, cluster, group, ...endpoint }: SilentEndpoint): string {
  if (scope === "cluster") return cluster;
  return scope === "group" ? group : endpointName(endpoint);
}

function nameOf(scope: Verdict["scope"], subject: string): string {
  return `${scope} ${subject}`;
}
