import type { ClusterNode } from "../cluster/cluster-node.ts";
import type { Clusters } from "../cluster/clusters.ts";

/** Kinds of which we have objects, where an overlay, a registry or DNS was installed. */
const KINDS = "crds,clusterroles,clusterrolebindings,namespaces,roles,rolebindings";

const SLICES =
  "endpointslice.kubernetes.io/managed-by in (clusterset-controller,cluster-ip-failover.clusterset-proxy.io)";
const ADDRESSES = "ipaddress.kubernetes.io/managed-by=clusterset-controller";

/** What of ours is left in a cluster: objects, a block of the Corefile, rules on nodes. Nothing, if it was uninstalled. */
export async function tracesIn(clusters: Clusters, id: string): Promise<string[]> {
  const said = await Promise.all([
    clusters.kubectl(id, ["get", KINDS, "-A", "-o", "name"]),
    clusters.kubectl(id, ["get", "endpointslices", "-A", "-l", SLICES, "-o", "name"]),
    clusters.kubectl(id, ["get", "ipaddresses", "-l", ADDRESSES, "-o", "name"]),
    clusters.kubectl(id, ["-n", "kube-system", "get", "configmap", "coredns", "-o", "yaml"]),
    ...clusters.cluster(id).nodes.map(ownRules),
  ]);
  return said
    .flatMap((text) => text.split("\n"))
    .filter((line) =>
      /clusterset|multicluster|about\.k8s\.io|CSP-|^endpointslice|^ipaddress/.test(line),
    );
}

/** All lines of iptables-save on a node that name a chain of ours, of both flavours and families. */
export async function ownRules({ host }: ClusterNode): Promise<string> {
  const saves = ["iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy"];
  const all = await Promise.all(saves.map((save) => host.exec([`${save}-save`])));
  const lines = all.flatMap((text) => text.split("\n")).filter((line) => line.includes("CSP-"));
  return lines.map((line) => `${line}\n`).join("");
}
