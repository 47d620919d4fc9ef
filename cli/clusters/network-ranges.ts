import { parse } from "yaml";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { CONFIG_MAPS } from "../../common/kubernetes/kinds.ts";
import { type FoundRanges, rangesIn } from "../install/ranges.ts";
import type { Cluster } from "./cluster.ts";

/** Ranges of pods as programs of a cluster are configured with them. */
interface Source {
  readonly namespace: string;
  readonly name: string;
  /** The ranges in the ConfigMap's data, separated by commas. */
  readonly ranges: (data: unknown) => string | undefined;
}

/** In order: what a network plugin says counts before what kubeadm was told. */
const SOURCES: readonly Source[] = [
  {
    namespace: "kube-system",
    name: "cilium-config",
    ranges: (data) =>
      ["cluster-pool-ipv4-cidr", "cluster-pool-ipv6-cidr"]
        .flatMap((key) => textField(data, key)?.split(/[\s,]+/) ?? [])
        .join(","),
  },
  {
    namespace: "kube-flannel",
    name: "kube-flannel-cfg",
    ranges: (data) => {
      const config = documentAt(data, "net-conf.json");
      return ["Network", "IPv6Network"].flatMap((key) => textField(config, key) ?? []).join(",");
    },
  },
  {
    namespace: "kube-system",
    name: "kube-proxy",
    ranges: (data) => textField(documentAt(data, "config.conf"), "clusterCIDR"),
  },
  {
    namespace: "kube-system",
    name: "kubeadm-config",
    ranges: (data) => {
      const subnet = fieldAt(documentAt(data, "ClusterConfiguration"), "networking", "podSubnet");
      return typeof subnet === "string" ? subnet : undefined;
    },
  },
];

const IP_POOLS = {
  group: "crd.projectcalico.org",
  versions: ["v1"],
  resource: "ippools",
  optional: true,
} as const;

/** The ranges that a cluster's network is configured with; undefined if no known program says. Rejects with an ApiFault. */
export async function networkRanges(on: Cluster): Promise<FoundRanges | undefined> {
  const pools = await on.list(IP_POOLS);
  const calico = pools
    .filter((pool) => fieldAt(pool, "spec", "disabled") !== true)
    .map((pool) => fieldAt(pool, "spec", "cidr"));
  const ranges = rangesIn(calico.join(","));
  if (ranges !== undefined) return { ranges, from: "Calico's IPPools" };
  for (const { namespace, name, ranges: rangesOf } of SOURCES) {
    const live = await on.objects.get(CONFIG_MAPS, { namespace, name });
    const found = rangesIn(rangesOf(fieldAt(live?.object, "data")) ?? "");
    if (found !== undefined) return { ranges: found, from: `ConfigMap ${namespace}/${name}` };
  }
  return undefined;
}

/** A key of a ConfigMap that is YAML or JSON; undefined if it is neither. */
function documentAt(data: unknown, key: string): unknown {
  try {
    return parse(textField(data, key) ?? "");
  } catch {
    return undefined;
  }
}
