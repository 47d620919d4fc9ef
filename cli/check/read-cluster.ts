import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { isUsage } from "../../common/config/usage.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import {
  CONFIG_MAPS,
  DAEMON_SETS,
  ENDPOINT_SLICES,
  NODES,
  queryOf,
  SERVICE_EXPORTS,
  SERVICES,
} from "../../common/kubernetes/kinds.ts";
import { Slots } from "../../common/queue/slots.ts";
import { agentSettings } from "../agents/objects.ts";
import { rightsOf } from "../changes/one-change.ts";
import { missingRights, serverVersion } from "../clusters/api-reviews.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { whyOf } from "../clusters/cluster-fault.ts";
import { readFacts } from "../clusters/read-facts.ts";
import { putAll } from "../install/change.ts";
import { CRDS, programs } from "../install/manifests.ts";
import {
  type ClusterFacts,
  type HubFacts,
  type MemberFlags,
  membersOf,
} from "../install/members.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { agentsOf } from "../programs/read-status.ts";
import type { CheckedCluster } from "./finding.ts";
import { recognizePlatform } from "./platform.ts";

/** What is read of a cluster, before its place in the clusterset is known. */
export type ReadCluster = Omit<CheckedCluster, "member" | "faults"> & { readonly on: Cluster };

/** A cluster that is read, with its place in the clusterset. */
export type PlacedCluster = CheckedCluster & { readonly on: Cluster };

/** What `readChecked` reads. */
interface ReadOptions {
  /** The most agents whose pages are read. 0: none, and no pods. */
  readonly mostAgents: number;
  /** True if the rights that a join needs are read, too. */
  readonly withRights: boolean;
}

/** Pages that are read at the same time. */
const AT_ONCE = 8;

/** Reads all that checks need. What only one check needs may be missing. Rejects with an ApiFault. */
export async function readChecked(
  on: Cluster,
  { mostAgents, withRights }: ReadOptions,
  signal: AbortSignal,
): Promise<ReadCluster> {
  const { context } = on;
  const nodes = on.list(queryOf(NODES));
  const unread: string[] = [];
  /** Undefined, with a sentence, for what this user may not read. */
  const readable = async <Value>(
    what: string,
    read: Promise<Value>,
  ): Promise<Value | undefined> => {
    try {
      return await read;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof ApiFault)) throw thrown;
      unread.push(`${what}: ${whyOf(on, thrown)}`);
      return undefined;
    }
  };
  const [facts, objects, exported] = await Promise.all([
    readFacts(on, signal, nodes),
    platformObjects(on, nodes, readable, signal),
    readable("Endpoints of exported Services", readExported(on)),
  ]);
  const { daemonSets, ...others } = objects;
  const own = daemonSets.find(
    (one) =>
      fieldAt(one, "metadata", "namespace") === INSTALL_NAMESPACE &&
      fieldAt(one, "metadata", "name") === "clusterset-agent",
  );
  const settings = own === undefined ? undefined : agentSettings([own]);
  const isMember = facts.images["clusterset-agent"] !== undefined;
  const [agents, rights] = await Promise.all([
    mostAgents > 0 ? readAgents(on, own, mostAgents, signal) : undefined,
    isMember || !withRights ? undefined : readable("Rights", rightsToJoin(on, facts, signal)),
  ]);
  return {
    ...{ on, context, facts },
    platform: recognizePlatform({ ...others, daemonSets, unread }),
    ...(exported !== undefined && { exported }),
    ...(settings !== undefined &&
      !isUsage(settings) && { clustersetCidrs: settings.config.clusterSetCidrs }),
    ...(agents !== undefined && { agents }),
    ...(rights !== undefined && { missingRights: rights }),
  };
}

/** The clusters with what they are or become in the clusterset. PURE. */
export function placed<One extends Omit<ReadCluster, "on">>(
  clusters: readonly One[],
  flags: MemberFlags,
  hub: HubFacts | undefined,
) {
  return clusters.map((one) => {
    const { members, faults } = membersOf([one.facts], flags, hub);
    const [member] = members;
    return { ...one, faults, ...(member !== undefined && { member }) };
  });
}

type Readable = <Value>(what: string, read: Promise<Value>) => Promise<Value | undefined>;

/** A kind that only some clusters have, whose objects say how a network plugin is set. */
function settingsOf(group: string, versions: readonly string[], resource: string) {
  return { group, versions, resource, optional: true } as const;
}

async function platformObjects(
  on: Cluster,
  nodes: Promise<readonly unknown[]>,
  readable: Readable,
  signal: AbortSignal,
) {
  const configMap = (name: string) =>
    readable(
      `ConfigMap kube-system/${name}`,
      on.objects.get(CONFIG_MAPS, { namespace: "kube-system", name }).then((live) => live?.object),
    );
  const named = async (name: string, query: ReturnType<typeof settingsOf>) => {
    const all = await readable(query.resource, on.list(query));
    return all?.find((one) => fieldAt(one, "metadata", "name") === name);
  };
  const [version, listed, daemonSets, ciliumConfig, kubeProxy, proxyConfig, kubeadm, felix] =
    await Promise.all([
      serverVersion(on, signal),
      nodes,
      readable("DaemonSets", on.list(queryOf(DAEMON_SETS))),
      configMap("cilium-config"),
      configMap("kube-proxy"),
      configMap("kube-proxy-config"),
      configMap("kubeadm-config"),
      named("default", settingsOf("crd.projectcalico.org", ["v1"], "felixconfigurations")),
    ]);
  const service = { namespace: "default", name: "kubernetes" };
  const [kubernetesService, installation, networkOperator] = await Promise.all([
    readable("Service default/kubernetes", on.objects.get(SERVICES, service)),
    named("default", settingsOf("operator.tigera.io", ["v1"], "installations")),
    named("cluster", settingsOf("operator.openshift.io", ["v1"], "networks")),
  ]);
  return {
    ...{ gitVersion: version.gitVersion, nodes: listed, daemonSets: daemonSets ?? [] },
    ...{ ciliumConfig, kubeProxy: proxyConfig ?? kubeProxy, kubeadm },
    ...{ felix, installation, networkOperator, kubernetesService: kubernetesService?.object },
  };
}

/** Exported Services, and the slices of all Services if there are any. */
async function readExported(on: Cluster): Promise<NonNullable<CheckedCluster["exported"]>> {
  const exports = await on.list(queryOf(SERVICE_EXPORTS, { optional: true }));
  if (exports.length === 0) return { exports, slices: [] };
  const slices = await on.list(queryOf(ENDPOINT_SLICES, { labelSelector: LABEL_SERVICE_SLICE }));
  return { exports, slices };
}

/** Undefined: it has none, and is to have none. */
async function readAgents(
  on: Cluster,
  daemonSet: unknown,
  mostAgents: number,
  signal: AbortSignal,
): Promise<CheckedCluster["agents"]> {
  const desired = fieldAt(daemonSet, "status", "desiredNumberScheduled");
  try {
    const readings = await agentsOf(on, mostAgents, new Slots(AT_ONCE), signal);
    if (daemonSet === undefined && readings.length === 0) return undefined;
    return { readings, ...(typeof desired === "number" && { desired }) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof ApiFault)) throw thrown;
    return { readings: [], unread: whyOf(on, thrown) };
  }
}

/** Sentences about rights that the user lacks for what a join writes in each cluster. */
async function rightsToJoin(
  on: Cluster,
  { components, mode = "mesh" }: ClusterFacts,
  signal: AbortSignal,
): Promise<string[]> {
  const objects = [...CRDS, ...programs(mode, {}, components)];
  const [change] = putAll(on.context, 0, objects);
  const rights = change === undefined ? [] : rightsOf(change, objects);
  const missing = await missingRights(on, rights, signal);
  const begin = `${on.context}: you`;
  return missing.map((one) => (one.startsWith(begin) ? `You${one.slice(begin.length)}` : one));
}
