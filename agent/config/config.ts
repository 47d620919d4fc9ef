import { familiesIn, ofFamily, overlaps } from "../../api/cidr.ts";
import { type Environment, readCommandLine } from "../../common/config/command-line.ts";
import type { AboutItself, Host, Program } from "../../common/config/flag.ts";
import { isUsage, type Usage, type UsageFault, usage } from "../../common/config/usage.ts";
import { FLAGS, type FlagValues } from "./flags.ts";

/** Commands of the agent. */
export type Command = "run" | "cleanup" | "render" | "plan" | AboutItself;

/** Command line of the agent. */
export const AGENT: Program<Command, typeof FLAGS> = {
  name: "clusterset-agent",
  about: [
    "clusterset-agent routes connections to a ClusterSetIP to its nearest endpoints: in this cluster,",
    "else in this region, else anywhere.",
  ],
  commands: {
    run: "Program this node's kernel and keep it in sync with the imports (default)",
    cleanup: "Remove all kernel objects of the agent, without affecting anything else",
    render: "Print the rules for the imports without programming them",
    plan: "Print the decision about each import, with reasons, without programming it",
    version: "Print the version",
    help: "Print this page",
  },
  flags: FLAGS,
  examples: [
    "plan --manifests ./manifests --cluster-id c1 --region eu-west -o yaml",
    "render --manifests ./manifests --cluster-id c1 --region eu-west",
    "plan --kubeconfig ~/.kube/config --node-name worker-1 -o yaml",
    "run --manifests ./manifests --cluster-id c1 --region eu-west \\\n    --pod-cidrs 10.1.0.0/16 --masquerade off-cluster",
    "cleanup",
  ],
};

/** The configuration, frozen: the values of all flags, which `flags.ts` explains. */
export interface AgentConfig extends FlagValues {
  readonly command: Command;
  /** The source of objects; absent only for commands that read none. */
  readonly objects: ObjectsFrom | undefined;
  /** Log messages about valid but suspicious values. */
  readonly warnings: readonly string[];
}

/** Parses the command line (without the program's name) and the environment. Help and version always succeed. PURE. */
export function parseConfig(
  argv: readonly string[],
  env: Environment,
  host: Host,
): AgentConfig | Usage {
  const given = readCommandLine(AGENT, argv, env, host);
  if (isUsage(given)) return given;
  const { command, values } = given;
  const objects = objectsFrom(values, env);
  const found = conflicts(command, values, objects);
  if (found.length > 0) return usage(...found);
  const warnings = [...given.warnings, ...suspiciousValues(command, values, objects)];
  return Object.freeze({ command, ...values, objects, warnings });
}

/** The one source of objects: two could contradict each other. */
export type ObjectsFrom =
  | { readonly kind: "manifests"; readonly directory: string }
  /** Without a kubeconfig: the API server of the pod's cluster. */
  | { readonly kind: "kubernetes"; readonly kubeconfig?: string };

/** Set by the kubelet in every container. */
const IN_CLUSTER = "KUBERNETES_SERVICE_HOST";

/** True for the commands that read objects. PURE. */
function readsObjects(command: Command): boolean {
  return command === "run" || command === "render" || command === "plan";
}

/** The source of objects; undefined if none is configured. Flags take precedence, in a pod as well. PURE. */
function objectsFrom(
  { manifests, kubeconfig }: Pick<FlagValues, "manifests" | "kubeconfig">,
  env: Environment,
): ObjectsFrom | undefined {
  if (manifests !== undefined) return { kind: "manifests", directory: manifests };
  if (kubeconfig !== undefined) return { kind: "kubernetes", kubeconfig };
  return (env[IN_CLUSTER] ?? "") === "" ? undefined : { kind: "kubernetes" };
}

/** Values that are valid individually but not together. PURE. */
function conflicts(
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
function suspiciousValues(
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
