import type { Address } from "../../api/address.ts";
import {
  isInside,
  type NodePlace,
  type PodPlace,
  pathOf,
  ROUTER_ADDRESSES,
  type Topology,
} from "./topology.ts";

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
