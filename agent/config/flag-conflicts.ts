import { familiesIn, ofFamily, overlaps } from "../../api/cidr.ts";
import type { UsageFault } from "../../common/config/usage.ts";
import type { FlagValues } from "./flags.ts";
import { type ObjectsFrom, readsObjects } from "./objects-from.ts";
import type { Command } from "./program.ts";

/** Values that are valid individually but not together. PURE. */
export function conflicts(
  command: Command,
  values: FlagValues,
  objects: ObjectsFrom | undefined,
): UsageFault[] {
  return [
    ...(readsObjects(command) && objects === undefined ? [noObjects(command)] : []),
    ...twoSources(values),
    ...podsInClusterSet(values),
    ...masqueradeWithoutPods(values),
    ...twoRegions(values),
  ];
}

/** Log messages about valid but suspicious combinations of values. PURE. */
export function suspiciousValues(
  command: Command,
  values: FlagValues,
  objects: ObjectsFrom | undefined,
): string[] {
  const found: string[] = [];
  for (const [vips, services] of overlaps(values.clusterSetCidrs, values.serviceCidrs)) {
    found.push(
      `--clusterset-cidr ${vips.text} overlaps --service-cidrs ${services.text}: a ClusterSetIP may ` +
        "also be a ClusterIP, and kube-proxy in nftables mode drops unknown addresses of its range",
    );
  }
  // Objects of an API server may set the same as the flags below.
  if (!readsObjects(command) || objects?.kind !== "manifests") return found;
  if (values.cluster === undefined) {
    found.push("--cluster-id is not set: no endpoint counts as local");
  }
  if (values.region === undefined) {
    found.push("--region is not set: no endpoint counts as regional");
  }
  return found;
}

function noObjects(command: Command): UsageFault {
  const expected = `is missing; outside of a pod, ${command} requires it or --manifests`;
  return { where: "--kubeconfig", expected };
}

function twoSources({ manifests, kubeconfig }: FlagValues): UsageFault[] {
  if (manifests === undefined || kubeconfig === undefined) return [];
  const expected = "conflicts with --manifests; set only one of them";
  return [{ where: "--kubeconfig", value: kubeconfig, expected }];
}

/** The guard rejects all traffic to the ClusterSet CIDR that matches no service, so these pods would be unreachable. */
function podsInClusterSet(values: FlagValues): UsageFault[] {
  return overlaps(values.clusterSetCidrs, values.podCidrs).map(([vips, pods]) => ({
    where: "--clusterset-cidr",
    value: vips.text,
    expected: `overlaps --pod-cidrs ${pods.text}; these pods would be unreachable`,
  }));
}

/** Pods are recognized by address only: without ranges, `off-cluster` and `remote` would mean `all`. */
function masqueradeWithoutPods(values: FlagValues): UsageFault[] {
  if (values.masquerade !== "off-cluster" && values.masquerade !== "remote") return [];
  return familiesIn(values.clusterSetCidrs)
    .filter((family) => ofFamily(values.podCidrs, family).length === 0)
    .map((family) => ({
      where: "--masquerade",
      value: values.masquerade,
      expected: `requires --pod-cidrs with an ${family} range, to recognize pods`,
    }));
}

function twoRegions(values: FlagValues): UsageFault[] {
  const { cluster, region, clusterRegions } = values;
  const byFlag = cluster === undefined ? undefined : clusterRegions.get(cluster);
  if (byFlag === undefined || byFlag === region) return [];
  const expected = `sets another region for this cluster than --region ${region ?? "(not set)"}`;
  return [{ where: "--cluster-regions", value: `${cluster}=${byFlag}`, expected }];
}
