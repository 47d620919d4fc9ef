import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS } from "../../common/kubernetes/kinds.ts";
import { recognizeDns } from "../install/dns.ts";
import type { ClusterDns } from "../install/dns-server.ts";
import { OWN_DNS } from "../install/workloads.ts";
import type { Cluster } from "./cluster.ts";

const SYSTEM = "kube-system";

/**
 * Reads which DNS server a cluster has, and what overwrites its configuration. What the user may not read counts as absent: the
 * configuration then stays as it is. Rejects with an ApiFault.
 */
export async function readDns(on: Cluster): Promise<ClusterDns> {
  const read = async (kind: typeof DEPLOYMENTS, name: string, namespace = SYSTEM) => {
    try {
      return (await on.objects.get(kind, { namespace, name }))?.object;
    } catch (thrown) {
      if (thrown instanceof ApiFault && thrown.reason === "forbidden") return undefined;
      throw thrown;
    }
  };
  const [coreDns, corefile, kubeDns, rke2, openshift, nodeLocal, own, ...others] =
    await Promise.all([
      read(DEPLOYMENTS, "coredns"),
      read(CONFIG_MAPS, "coredns"),
      read(DEPLOYMENTS, "kube-dns"),
      read(DEPLOYMENTS, "rke2-coredns-rke2-coredns"),
      read(DAEMON_SETS, "dns-default", "openshift-dns"),
      read(CONFIG_MAPS, "node-local-dns"),
      read(DEPLOYMENTS, OWN_DNS.name, OWN_DNS.namespace),
      read(CONFIG_MAPS, "coredns-custom"),
      read(CONFIG_MAPS, "kube-dns"),
      read(CONFIG_MAPS, "rke2-coredns-rke2-coredns"),
      read(CONFIG_MAPS, "dns-default", "openshift-dns"),
    ]);
  return recognizeDns({ coreDns, corefile, kubeDns, rke2, openshift, nodeLocal, own, others });
}
