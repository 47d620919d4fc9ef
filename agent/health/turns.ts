import { inTurns } from "../../api/in-turns.ts";
import type { Finding } from "./evaluate.ts";
import type { TcpEndpoint } from "./evidence.ts";
import { endpointName } from "./verdict.ts";
import { MOST_OF_NAMESPACE, type Verdicts } from "./verdicts.ts";
import type { Listed } from "./watched-endpoints.ts";

/** First the clusters that are called by a namespace with few silent clusters: one that invents hundreds does not delay the examination of others. PURE. */
export function rarestFirst(byCluster: ReadonlyMap<string, Listed>): (readonly [string, Listed])[] {
  const namespacesOf = (members: Listed) =>
    new Set([...members.values()].flatMap((all) => [...all]));
  const all = [...byCluster].map(([cluster, members]) => {
    return { cluster, members, namespaces: namespacesOf(members) };
  });
  const counts = new Map<string, number>();
  for (const one of all.flatMap(({ namespaces }) => [...namespaces]))
    counts.set(one, (counts.get(one) ?? 0) + 1);
  const rank = (namespaces: ReadonlySet<string>) =>
    Math.min(...[...namespaces].map((one) => counts.get(one) ?? 0));
  return all
    .toSorted((a, b) => rank(a.namespaces) - rank(b.namespaces))
    .map(({ cluster, members }) => [cluster, members]);
}

/**
 * Endpoints without a verdict. Namespaces take turns, those whose verdicts are enough last: one with thousands of silent endpoints does not delay others.
 */
export function openInTurns(cluster: string, suspects: Listed, verdicts: Verdicts): TcpEndpoint[] {
  const open = [...suspects]
    .filter(([one, namespaces]) => !verdicts.on(one, cluster, namespaces))
    .map(([one]) => one);
  const counts = verdicts.byNamespace("endpoint");
  const isFull = (namespace: string) => (counts.get(namespace) ?? 0) >= MOST_OF_NAMESPACE;
  const queues = Map.groupBy(open, (one) => leastOf(suspects.get(one), counts));
  return [false, true].flatMap((full) =>
    inTurns([...queues].filter(([name]) => isFull(name) === full).map(([, queue]) => queue)),
  );
}

/** Of the namespaces that list an endpoint, the one with the fewest verdicts: another one that has many must not prevent its verdict. PURE. */
export function leastOf(
  namespaces: Iterable<string> = [],
  counts: ReadonlyMap<string, number>,
): string {
  const count = (namespace: string) => counts.get(namespace) ?? 0;
  const [least = ""] = [...namespaces].sort((a, b) => count(a) - count(b));
  return least;
}

/** The endpoints of these, with the namespaces that list each. PURE. */
export function listedOf(findings: readonly Finding[]): Listed {
  const listed = new Map<string, readonly [TcpEndpoint, Set<string>]>();
  for (const { group, endpoints } of findings) {
    for (const one of endpoints) {
      const known = listed.get(endpointName(one)) ?? [one, new Set<string>()];
      known[1].add(group.namespace);
      listed.set(endpointName(one), known);
    }
  }
  return new Map(listed.values());
}
