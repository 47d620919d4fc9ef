import type { Clusters } from "../cluster/clusters.ts";

/** All rules of a node by its name: of both flavours and families of iptables, in no order. */
export type NodeRules = ReadonlyMap<string, ReadonlySet<string>>;

const SAVES = ["iptables", "ip6tables"].flatMap((tool) => [
  `${tool}-nft-save`,
  `${tool}-legacy-save`,
]);

/** A rule without counters, and without what names one pod: CoreDNS is another one after it was restarted. */
function lasting(rule: string): string {
  return rule
    .replace(/ \[\d+:\d+\]$/, "")
    .replaceAll(/KUBE-SEP-\w+/g, "KUBE-SEP")
    .replaceAll(/\b10\.[12]\.\d+\.\d+\b/g, "POD");
}

/**
 * The rules of all nodes, without what changes by itself: the time that is written above, counters, the order in which
 * kube-proxy has Services, and which pods CoreDNS has.
 */
export async function rulesOfNodes(clusters: Clusters): Promise<NodeRules> {
  const nodes = clusters.all.flatMap((cluster) => cluster.nodes);
  const entries = nodes.map(async (node): Promise<[string, Set<string>]> => {
    const tables = SAVES.map(async (save) => {
      let table = "";
      const lines = (await node.host.exec([save])).split("\n");
      return lines.flatMap((line) => {
        if (line.startsWith("*")) table = line;
        return /^[:-]/.test(line) ? [`${save} ${table} ${lasting(line)}`] : [];
      });
    });
    return [node.name, new Set((await Promise.all(tables)).flat())];
  });
  return new Map(await Promise.all(entries));
}

/** What is there now and was not before, and the other way round; nothing, if they are the same. */
export function differences(before: NodeRules, now: NodeRules): string[] {
  return [...before].flatMap(([node, old]) => {
    const rules = now.get(node) ?? new Set();
    return [
      ...[...rules].filter((rule) => !old.has(rule)).map((rule) => `${node}: new: ${rule}`),
      ...[...old].filter((rule) => !rules.has(rule)).map((rule) => `${node}: gone: ${rule}`),
    ];
  });
}
