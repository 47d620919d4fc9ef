import { type Address, FAMILIES, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, contains, isCidr, overlap, parseCidr } from "../../api/cidr.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";

/** What makes one namespace ready: first the settings (files below /proc/sys/net), then `ip -batch` lines. */
export interface Wiring {
  /** The place: `router`, `cluster/node` or `cluster/node/pod`. */
  readonly path: string;
  readonly settings: readonly (readonly [file: string, value: string])[];
  readonly batch: readonly string[];
}

/** Gives the name of a place's network namespace. */
export type NamespaceName = (path: string) => string;

/** The place of the router, which all nodes hang on. */
export const ROUTER = "router";

/** All places of a topology, the router first. */
export function placesOf(topology: Topology): string[] {
  return [
    ROUTER,
    ...topology.nodes.flatMap((node) => [
      pathOf(node),
      ...node.pods.map((pod) => pathOf(node, pod)),
    ]),
  ];
}

/**
 * The router: one link to each node. It has routes to every pod, translates nothing (so that a server sees the client's address),
 * and has no default route: packets to other addresses are rejected with "unreachable" at once.
 */
export function wireRouter(topology: Topology, nameOf: NamespaceName): Wiring {
  const batch = topology.nodes.flatMap((node, i) => {
    const device = `node${i}`;
    const routed = [
      ...node.podCidrs,
      ...node.pods.flatMap((pod) => pod.addresses.filter((own) => !isInside(node, own))),
    ];
    return [
      ...link(device, nameOf(pathOf(node)), ROUTER_ADDRESSES),
      ...node.addresses.map(({ text }) => `route add ${text} dev ${device}`),
      ...routed.map(({ text, family }) => {
        const via = node.addresses.find((own) => own.family === family);
        return `route add ${text} via ${via?.text} dev ${device}`;
      }),
    ];
  });
  return { path: ROUTER, settings: settings(true), batch: ["link set lo up", ...batch] };
}

/** A node: one link to each pod, made here; the link to the router is `eth0`, and exists already. */
export function wireNode(topology: Topology, node: NodePlace, nameOf: NamespaceName): Wiring {
  const pods = node.pods.flatMap((pod, i) => [
    ...link(`pod${i}`, nameOf(pathOf(node, pod)), node.gateways),
    ...pod.addresses.map(({ text, family }) => {
      const source = node.gateways.find((gateway) => gateway.family === family);
      return `route add ${text} dev pod${i} src ${source?.text}`;
    }),
  ]);
  return {
    path: pathOf(node),
    settings: [...settings(true), ...settingsOf("eth0")],
    batch: [
      ...uplink(node.addresses, ROUTER_ADDRESSES),
      // A pod that does not exist is unreachable, and not passed to and fro between node and router.
      ...node.podCidrs.map(({ text }) => `route add unreachable ${text}`),
      ...lentBy(topology, node).map(({ text, family }) => {
        const via = ROUTER_ADDRESSES.find((router) => router.family === family);
        return `route add ${text} via ${via?.text} dev eth0`;
      }),
      ...pods,
    ],
  };
}

/** Addresses of the node's ranges whose pods are on other nodes. */
function lentBy(topology: Topology, node: NodePlace): Address[] {
  return topology.nodes
    .filter((other) => other !== node)
    .flatMap((other) => other.pods.flatMap((pod) => pod.addresses))
    .filter((own) => isInside(node, own));
}

/** A pod: its link to the node is `eth0`, and exists already. */
export function wirePod(node: NodePlace, pod: PodPlace): Wiring {
  return {
    path: pathOf(node, pod),
    settings: [
      ...settings(false),
      ...settingsOf("eth0"),
      // Room for storms: 28,000 ports of one client last for a few seconds only.
      ["ipv4/ip_local_port_range", "1024 65535"],
    ],
    batch: uplink(pod.addresses, node.gateways),
  };
}

/** A link to another namespace, whose end there is `eth0`. Neither end is ever seen outside the two. */
function link(name: string, peer: string, addresses: readonly Address[]): string[] {
  return [
    `link add ${name} type veth peer name eth0 netns ${peer}`,
    `link set ${name} up`,
    ...addresses.map((own) => hold(own, name)),
  ];
}

function uplink(addresses: readonly Address[], gateways: readonly Address[]): string[] {
  const defaults = gateways.flatMap(({ text, family }) => {
    // The first address of a family is the one that a client there is seen as.
    const source = addresses.find((own) => own.family === family);
    return [
      `route add ${text} dev eth0`,
      `route add default via ${text} dev eth0 src ${source?.text}`,
    ];
  });
  return [
    "link set lo up",
    "link set eth0 up",
    ...addresses.map((own) => hold(own, "eth0")),
    ...defaults,
  ];
}

/** Without `nodad`, an IPv6 address is no source for a route before the search for duplicates is over. */
function hold({ family, text }: Address, device: string): string {
  return family === "IPv4"
    ? `addr add ${text}/32 dev ${device}`
    : `addr add ${text}/128 dev ${device} nodad`;
}

/** Settings are written in full: a new namespace inherits those of IPv4 from the machine it is made on. */
function settings(forwards: boolean): (readonly [string, string])[] {
  const forwarding = forwards ? "1" : "0";
  return [
    ["ipv4/ip_forward", forwarding],
    ["ipv6/conf/all/forwarding", forwarding],
    ...["all", "default"].flatMap(settingsOf),
  ];
}

function settingsOf(link: string): (readonly [string, string])[] {
  return [
    [`ipv4/conf/${link}/rp_filter`, "0"],
    // The link-local addresses, too, shall be of use at once: neighbours are found by them.
    [`ipv6/conf/${link}/accept_dad`, "0"],
  ];
}

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
