import type { Silence } from "../model/silence.ts";
import type { SilentEndpoint, TcpEndpoint } from "./evidence.ts";
import { isOnlyOf } from "./judge.ts";
import { endpointName, Recurrence, type Verdict } from "./verdict.ts";

/** The verdicts at present. Times are the clock's, in milliseconds. */
export class Verdicts {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #recurrence = new Recurrence();

  get all(): readonly Verdict[] {
    return [...this.#verdicts.values()];
  }

  get any(): boolean {
    return this.#verdicts.size > 0;
  }

  /** The verdict on this endpoint, which these namespaces list: alone or with all of its cluster. */
  on(endpoint: TcpEndpoint, cluster: string, namespaces: ReadonlySet<string>): Verdict | undefined {
    const whole = this.ofCluster(cluster);
    if (whole !== undefined && !isOnlyOf(namespaces, whole.except)) return whole;
    return this.#verdicts.get(`endpoint ${endpointName(endpoint)}`);
  }

  /** The verdict on all of a cluster. */
  ofCluster(cluster: string): Verdict | undefined {
    return this.#verdicts.get(`cluster ${cluster}`);
  }

  /** The number of verdicts of each namespace. */
  byNamespace(of: Verdict["scope"]): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { scope, namespace } of this.all) {
      if (scope === of) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    }
    return counts;
  }

  /** What an endpoint, or all of a cluster, would be found silent as; it begins with `begin`. */
  propose(
    scope: Verdict["scope"],
    { cluster, namespace }: Pick<Verdict, "cluster" | "namespace">,
    endpoints: readonly TcpEndpoint[],
    now: number,
  ): Verdict {
    const [first] = endpoints;
    const name =
      scope === "cluster" || first === undefined
        ? `cluster ${cluster}`
        : `endpoint ${endpointName(first)}`;
    return {
      ...{ name, scope, cluster, namespace, since: now, terms: this.#recurrence.terms(name, now) },
      endpoints: new Map(endpoints.map((one) => [endpointName(one), one])),
      ...{ except: "", probes: 0, probeAt: now },
    };
  }

  /** False if there is one of this name already. */
  begin(verdict: Verdict): boolean {
    if (this.#verdicts.has(verdict.name)) return false;
    this.#verdicts.set(verdict.name, verdict);
    return true;
  }

  /** The verdicts that one on all of the cluster replaces. */
  within({ scope, cluster }: Verdict): Verdict[] {
    return scope === "cluster" ? this.all.filter((one) => one.cluster === cluster) : [];
  }

  /** Clusters that are silent, as in a fact. */
  get clusters(): Silence["clusters"] {
    const whole = this.all.filter(({ scope }) => scope === "cluster");
    return new Map(whole.map(({ cluster, except }) => [cluster, except]));
  }

  /** Verdicts of an earlier run, which the kernel has kept. Those that expire first fell first. */
  restore(found: readonly SilentEndpoint[], now: number): void {
    const longest = Math.max(0, ...found.map(({ expires }) => expires));
    for (const { cluster, isWhole, expires, ...endpoint } of found) {
      const known = isWhole ? this.ofCluster(cluster) : undefined;
      if (known !== undefined) {
        known.endpoints.set(endpointName(endpoint), endpoint);
        continue;
      }
      const owner = { cluster, namespace: "" };
      const proposed = this.propose(isWhole ? "cluster" : "endpoint", owner, [endpoint], now);
      const since = now - (longest - expires);
      this.begin({ ...proposed, since, terms: { ...proposed.terms, expires: longest } });
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
  end(verdict: Verdict, now: number): boolean {
    if (this.#verdicts.get(verdict.name) !== verdict) return false;
    this.#verdicts.delete(verdict.name);
    this.#recurrence.ended(verdict, now);
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
    const endpoints = new Map<string, Map<number, number>>();
    for (const { scope, since, endpoints: all } of this.all) {
      if (scope === "cluster") continue;
      for (const { address, port } of all.values()) {
        const ports = endpoints.get(address) ?? new Map<number, number>();
        endpoints.set(address, ports.set(port, since));
      }
    }
    return { endpoints, clusters: this.clusters };
  }
}
