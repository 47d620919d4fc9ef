import { overlaps } from "../../api/cidr.ts";
import type { UsageFault } from "../../common/config/usage.ts";
import type { FlagValues } from "./flags.ts";
import { type ObjectsFrom, readsObjects } from "./objects-from.ts";
import type { Command } from "./program.ts";

/** Values that are right one by one, and wrong together. PURE. */
export function contradictions(
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

/** Values that are allowed together and perhaps not meant: sentences for the log. PURE. */
export function doubts(
  command: Command,
  values: FlagValues,
  objects: ObjectsFrom | undefined,
): string[] {
  const found: string[] = [];
  for (const [vips, services] of overlaps(values.clusterSetCidrs, values.serviceCidrs)) {
    found.push(
      `--clusterset-cidr ${vips.text} overlaps --service-cidrs ${services.text}: a ClusterSetIP may ` +
        "be a Service's ClusterIP as well, and kube-proxy in nftables mode drops what it does not know",
    );
  }
  // An API server may know what no flag says.
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
  const expected = `is missing; outside of a pod, ${command} needs it, or --manifests, to read objects from`;
  return { where: "--kubeconfig", expected };
}

function twoSources({ manifests, kubeconfig }: FlagValues): UsageFault[] {
  if (manifests === undefined || kubeconfig === undefined) return [];
  const expected = "contradicts --manifests; objects come from one place";
  return [{ where: "--kubeconfig", value: kubeconfig, expected }];
}

/** The guard rejects whatever is still addressed to the ClusterSet CIDR: here, that would be pods. */
function podsInClusterSet(values: FlagValues): UsageFault[] {
  return overlaps(values.clusterSetCidrs, values.podCidrs).map(([vips, pods]) => ({
    where: "--clusterset-cidr",
    value: vips.text,
    expected: `overlaps --pod-cidrs ${pods.text}; these pods could not be reached`,
  }));
}

/** Who is a pod is told by address only; without ranges, `off-cluster` and `remote` would mean `all`. */
function masqueradeWithoutPods(values: FlagValues): UsageFault[] {
  if (values.masquerade !== "off-cluster" && values.masquerade !== "remote") return [];
  return values.clusterSetCidrs
    .filter((vips) => !values.podCidrs.some((pods) => pods.family === vips.family))
    .map(({ family }) => ({
      where: "--masquerade",
      value: values.masquerade,
      expected: `needs --pod-cidrs with an ${family} range, to tell pods from others`,
    }));
}

function twoRegions(values: FlagValues): UsageFault[] {
  const { cluster, region, clusterRegions } = values;
  const said = cluster === undefined ? undefined : clusterRegions.get(cluster);
  if (said === undefined || said === region) return [];
  const expected = `gives this cluster another region than --region ${region ?? "(not set)"}`;
  return [{ where: "--cluster-regions", value: `${cluster}=${said}`, expected }];
}
