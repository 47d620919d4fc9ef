import { type Address, FAMILIES, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, contains, isCidr, overlap, parseCidr } from "../../api/cidr.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";

/**
 * What a lab is made of. Clusters and nodes are numbered in the order given, from 1 and 0; what is not said
 * follows from the numbers: node 0 of cluster 2 has the pod ranges 10.2.0.0/24 and fd00:10:2:0::/64, and its
 * first pod 10.2.0.11 and fd00:10:2::11, or the next ones that no pod was given.
 */
export interface LabSpec {
  readonly clusters: readonly ClusterSpec[];
}

export interface ClusterSpec {
  readonly id: string;
  readonly region?: string;
  readonly nodes: readonly NodeSpec[];
}

export interface NodeSpec {
  readonly name: string;
  /** One range for each family that shall not be the default. */
  readonly podCidrs?: readonly string[];
  /**
   * The pods by name, each with its addresses. A family without one gets the default. An address outside the
   * node's ranges gets a route of its own, so that published manifests can be acted out as they are.
   */
  readonly pods?: Readonly<Record<string, readonly string[]>>;
}

/** A spec with everything decided. */
export interface Topology {
  readonly nodes: readonly NodePlace[];
}

export interface NodePlace {
  readonly cluster: string;
  readonly region: string | undefined;
  readonly name: string;
  /** The node's own address in each family: where host-network clients come from. */
  readonly addresses: readonly Address[];
  readonly podCidrs: readonly Cidr[];
  /** The node's end of every pod's link, one in each family. */
  readonly gateways: readonly Address[];
  readonly pods: readonly PodPlace[];
}

export interface PodPlace {
  readonly name: string;
  readonly addresses: readonly Address[];
}

/** The router's end of every node's link. */
export const ROUTER_ADDRESSES: readonly Address[] = [address("172.20.0.1"), address("fd00:20::1")];

/** Decides every address of a lab. Throws on a name or an address that is wrong or used twice. */
export function topologyOf(spec: LabSpec): Topology {
  const taken = new Set(
    spec.clusters.flatMap(({ nodes }) =>
      nodes.flatMap(({ pods }) => Object.values(pods ?? {}).flat()),
    ),
  );
  const nodes = spec.clusters.flatMap((cluster, c) => {
    if (!isClusterId(cluster.id)) throw new Error(`cluster "${cluster.id}": not a cluster id`);
    return cluster.nodes.map((node, n) => nodePlace(cluster, node, c + 1, n, taken));
  });
  refuseClashes(nodes);
  return { nodes };
}

/** The node's name in messages and in `Lab.node`: `cluster/node`. */
export function pathOf(node: NodePlace, pod?: PodPlace): string {
  return [node.cluster, node.name, ...(pod === undefined ? [] : [pod.name])].join("/");
}

/** `taken`: the addresses that pods anywhere were given; what is chosen here is added. */
function nodePlace(
  cluster: ClusterSpec,
  node: NodeSpec,
  c: number,
  n: number,
  taken: Set<string>,
): NodePlace {
  const path = `${cluster.id}/${node.name}`;
  if (!isLabelName(node.name)) throw new Error(`node "${path}": not a DNS label`);
  const defaults = {
    IPv4: { node: `172.20.${c}.${11 + n}`, cidr: `10.${c}.${n}.0/24` },
    IPv6: { node: `fd00:20:${c}::${11 + n}`, cidr: `fd00:10:${c}:${n}::/64` },
  };
  const given = (node.podCidrs ?? []).map((text) => cidr(text, `node ${path}`));
  const podCidrs = FAMILIES.map(
    (family) => given.find((range) => range.family === family) ?? cidr(defaults[family].cidr, path),
  );
  const pods = Object.entries(node.pods ?? {}).map(([name, addresses], p) => {
    if (!isLabelName(name)) throw new Error(`pod "${path}/${name}": not a DNS label`);
    const own = addresses.map((text) => address(text, `pod ${path}/${name}`));
    const missing = FAMILIES.filter((family) => !own.some((one) => one.family === family));
    const chosen = missing.map((family) => free(podCidrs, family, 11 + p, taken));
    return { name, addresses: [...own, ...chosen] };
  });
  return {
    cluster: cluster.id,
    region: cluster.region,
    name: node.name,
    addresses: FAMILIES.map((family) => address(defaults[family].node)),
    podCidrs,
    gateways: FAMILIES.map((family) => nth(podCidrs, family, 1)),
    pods,
  };
}

/** The first unused address, from the `n`-th on. */
function free(ranges: readonly Cidr[], family: Family, n: number, taken: Set<string>): Address {
  const own = nth(ranges, family, n);
  if (taken.has(own.text)) return free(ranges, family, n + 1, taken);
  taken.add(own.text);
  return own;
}

/** The address of the range that ends in `n`: `.11` and `::11`. */
function nth(ranges: readonly Cidr[], family: Family, n: number): Address {
  const range = ranges.find((one) => one.family === family);
  const base = range?.text.split("/")[0] ?? "";
  const own = address(family === "IPv4" ? base.replace(/\d+$/, String(n)) : `${base}${n}`);
  if (range !== undefined && contains(range, own)) return own;
  throw new Error(`podCidrs: ${range?.text} does not hold ${own.text}; choose a range that does`);
}

function refuseClashes(nodes: readonly NodePlace[]): void {
  const holders = new Map<string, string>();
  const take = (what: string, holder: string) => {
    const other = holders.get(what);
    if (other !== undefined) throw new Error(`${what}: used by both ${other} and ${holder}`);
    holders.set(what, holder);
  };
  for (const [i, node] of nodes.entries()) {
    take(`node ${pathOf(node)}`, `node ${pathOf(node)}`);
    for (const other of nodes.slice(0, i)) {
      const clash = node.podCidrs.find((range) => other.podCidrs.some((o) => overlap(o, range)));
      if (clash === undefined) continue;
      throw new Error(`${clash.text}: overlaps for ${pathOf(other)} and ${pathOf(node)}`);
    }
    for (const gateway of node.gateways) take(gateway.text, `the gateway of ${pathOf(node)}`);
    for (const pod of node.pods) {
      for (const { text } of pod.addresses) take(text, `pod ${pathOf(node, pod)}`);
    }
  }
}

/** True if the node's own ranges lead to this address of one of its pods. */
export function isInside(node: NodePlace, podAddress: Address): boolean {
  return node.podCidrs.some((range) => contains(range, podAddress));
}

function address(text: string, owner?: string): Address {
  const parsed = parseAddress(text);
  if (isAddress(parsed)) return parsed;
  throw new Error(`${owner ?? "address"}: "${text}": ${parsed}`);
}

function cidr(text: string, owner: string): Cidr {
  const parsed = parseCidr(text);
  if (isCidr(parsed)) return parsed;
  throw new Error(`${owner}: "${text}": ${parsed}`);
}
