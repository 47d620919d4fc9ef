import { parse } from "yaml";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import {
  ANNOTATION_API_SERVER,
  ANNOTATION_COMPONENTS,
  ANNOTATION_ENDPOINT_CIDRS,
  LABEL_PEER,
  LABEL_REGION,
  LABEL_REGISTRY,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import {
  CLUSTER_PROPERTIES,
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  NAMESPACES,
  NODES,
  queryOf,
  SECRETS,
} from "../../common/kubernetes/kinds.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { accessIn, HUB_KEY, HUB_SECRET, PEER_KEY, secretText } from "../install/handovers.ts";
import type { RegistryMode } from "../install/manifests.ts";
import type { ClusterFacts, HubFacts, KnownPeer } from "../install/members.ts";
import { aroundNodes, type FoundRanges, rangesIn } from "../install/ranges.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { serverVersion } from "./api-reviews.ts";
import type { Cluster } from "./cluster.ts";
import { readDns } from "./read-dns.ts";

const SERVICE_CIDRS = {
  group: "networking.k8s.io",
  versions: ["v1", "v1beta1"],
  resource: "servicecidrs",
  optional: true,
} as const;

/**
 * Reads all that join, leave, rotate and upgrade look at before they change anything. `listedNodes`: its Nodes, if they are listed already.
 * Rejects with an ApiFault.
 */
export async function readFacts(
  on: Cluster,
  signal: AbortSignal,
  listedNodes: Promise<readonly unknown[]> = on.list(queryOf(NODES)),
): Promise<ClusterFacts> {
  const own = { namespace: INSTALL_NAMESPACE };
  const name = "clusterset-controller";
  const [
    { minor },
    base,
    properties,
    nodes,
    services,
    configured,
    programs,
    secrets,
    hub,
    registries,
  ] = await Promise.all([
    serverVersion(on, signal),
    baseFacts(on),
    on.list(queryOf(CLUSTER_PROPERTIES, { optional: true })),
    listedNodes,
    on.list(SERVICE_CIDRS),
    networkRanges(on),
    Promise.all([
      on.objects.get(DEPLOYMENTS, { ...own, name }),
      on.objects.get(DAEMON_SETS, { ...own, name: "clusterset-agent" }),
      readDns(on),
    ]),
    on.list(queryOf(SECRETS, { ...own, labelSelector: LABEL_PEER })),
    on.objects.get(SECRETS, { ...own, name: HUB_SECRET }),
    on.list(queryOf(NAMESPACES, { labelSelector: LABEL_REGISTRY })),
  ]);
  const [controller, agent, dns] = programs;
  const podCidrs = nodes.flatMap((node) => cidrsAt(node, "podCIDRs"));
  const around: FoundRanges | undefined =
    podCidrs.length === 0
      ? undefined
      : { ranges: aroundNodes(podCidrs), from: "around Nodes' podCIDRs" };
  const found = configured ?? around;
  const hubServer = accessIn(secretText(hub?.object, HUB_KEY) ?? "")?.server;
  const mode = modeOf(controller?.object);
  return {
    ...base,
    ...{ minor, podCidrs, dns },
    ...propertiesOf(properties),
    declared: declaredBy(registries, propertiesOf(properties).clusterId),
    nodeRegions: [...new Set(nodes.flatMap(regionOf))].sort(),
    serviceCidrs: services.flatMap((one) => cidrsAt(one, "cidrs")),
    images: Object.fromEntries(
      [agent?.object, controller?.object].flatMap((one) => containersOf(one).map(imageOf)),
    ),
    components: componentsOf(agent?.object),
    peers: secrets.flatMap(peerOf),
    ...(found !== undefined && { found }),
    ...(mode !== undefined && { mode }),
    ...(hubServer !== undefined && { hub: hubServer }),
  };
}

/** What is read of a hub. Rejects with an ApiFault. */
export async function readHub(on: Cluster): Promise<HubFacts> {
  const [base, registries] = await Promise.all([
    baseFacts(on),
    on.list(queryOf(NAMESPACES, { labelSelector: LABEL_REGISTRY })),
  ]);
  const members = registries.flatMap((one) => {
    const id = fieldAt(one, "metadata", "labels", LABEL_REGISTRY);
    const ranges = fieldAt(one, "metadata", "annotations", ANNOTATION_ENDPOINT_CIDRS);
    return typeof id === "string"
      ? [[id, typeof ranges === "string" ? ranges : undefined] as const]
      : [];
  });
  return { ...base, members: new Map(members) };
}

async function baseFacts(on: Cluster) {
  const [system, authority] = await Promise.all([
    on.objects.get(NAMESPACES, { name: "kube-system" }),
    on.objects.get(CONFIG_MAPS, { namespace: "kube-system", name: "kube-root-ca.crt" }),
  ]);
  // A cluster of another kind would be taken for the same one.
  if (system === undefined) throw new ApiFault("absent", `${on.context}: no namespace kube-system`);
  const ca = fieldAt(authority?.object, "data", "ca.crt");
  return {
    context: on.context,
    address: on.address,
    uid: system.meta.uid,
    // Empty without --root-ca-file of kube-controller-manager.
    ...(typeof ca === "string" && ca !== "" && { ca: Buffer.from(ca).toString("base64") }),
  };
}

/** The identity that a cluster states; empty if it is no member. Rejects with an ApiFault. */
export async function readIdentity(on: Cluster): Promise<Identity> {
  return propertiesOf(await on.list(queryOf(CLUSTER_PROPERTIES, { optional: true })));
}

/** What ClusterProperties state. */
type Identity = Pick<ClusterFacts, "clusterId" | "clusterSet" | "region">;

function propertiesOf(properties: readonly unknown[]): Identity {
  const value = (name: string): string | undefined => {
    const found = properties.find((one) => textField(field(one, "metadata"), "name") === name);
    return textField(field(found, "spec"), "value");
  };
  const [clusterId, clusterSet, region] = [
    value(PROPERTY_CLUSTER_ID),
    value(PROPERTY_CLUSTER_SET),
    value(PROPERTY_REGION),
  ];
  return {
    ...(clusterId !== undefined && { clusterId }),
    ...(clusterSet !== undefined && { clusterSet }),
    ...(region !== undefined && { region }),
  };
}

/** What earlier joins noted in the cluster's own registry. */
function declaredBy(registries: readonly unknown[], id: string | undefined) {
  // By its name: any namespace can have the label.
  const name = id === undefined ? undefined : registryNamespace(id);
  const own = registries.find((one) => textField(field(one, "metadata"), "name") === name);
  const note = (name: string): string | undefined => {
    const value = id === undefined ? undefined : fieldAt(own, "metadata", "annotations", name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [server, endpointCidrs] = [note(ANNOTATION_API_SERVER), note(ANNOTATION_ENDPOINT_CIDRS)];
  return {
    ...(server !== undefined && URL.parse(server)?.protocol === "https:" && { server }),
    ...(endpointCidrs !== undefined && rangesIn(endpointCidrs) && { endpointCidrs }),
  };
}

function cidrsAt(object: unknown, name: string): Cidr[] {
  const list = fieldAt(object, "spec", name);
  return (Array.isArray(list) ? list : []).map((text) => parseCidr(String(text))).filter(isCidr);
}

function regionOf(node: unknown): string[] {
  const region = fieldAt(node, "metadata", "labels", LABEL_REGION);
  return typeof region === "string" && region !== "" ? [region] : [];
}

function peerOf(secret: unknown): KnownPeer[] {
  const metadata = field(secret, "metadata");
  const cluster = fieldAt(metadata, "labels", LABEL_PEER);
  const ranges = fieldAt(metadata, "annotations", ANNOTATION_ENDPOINT_CIDRS);
  const server = accessIn(secretText(secret, PEER_KEY) ?? "")?.server;
  if (typeof cluster !== "string") return [];
  return [
    {
      ...{ cluster, secret: textField(metadata, "name") ?? "" },
      ...(server !== undefined && { server }),
      ...(typeof ranges === "string" && { endpointCidrs: ranges }),
    },
  ];
}

function containersOf(workload: unknown): unknown[] {
  const containers = fieldAt(workload, "spec", "template", "spec", "containers");
  return Array.isArray(containers) ? containers : [];
}

/** The container `agent` has the image that deploy calls `clusterset-agent`. */
function imageOf(container: unknown): [string, string] {
  return [`clusterset-${textField(container, "name")}`, textField(container, "image") ?? ""];
}

function componentsOf(agent: unknown): string[] {
  const names = fieldAt(agent, "metadata", "annotations", ANNOTATION_COMPONENTS);
  return typeof names === "string" ? names.split(",").filter((name) => name !== "") : [];
}

function modeOf(controller: unknown): RegistryMode | undefined {
  if (controller === undefined) return undefined;
  const variables = containersOf(controller).flatMap((one) => {
    const env = field(one, "env");
    return Array.isArray(env) ? env : [];
  });
  const registry = variables.find(
    (one) => textField(one, "name") === "CLUSTERSET_CONTROLLER_REGISTRY",
  );
  return textField(registry, "value") === "hub" ? "hub" : "mesh";
}

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
