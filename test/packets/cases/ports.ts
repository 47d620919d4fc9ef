import { servicePorts } from "../../generators/export-records.ts";
import { importObject } from "../../generators/objects.ts";
import { addressAt, CLIENT, HOME, VIPS } from "../address-plan.ts";
import { slice, TARGETS } from "../objects.ts";
import { flow, flows, http, type PacketCase, packetCase, sctp, tcp, udp } from "../packet-case.ts";

const KEY = "demo/serve";
const VIP = VIPS.first;
const BOTH = [CLIENT, HOME];

/** An import with these ports. */
const imported = (ports: string) => importObject(KEY, [VIP], servicePorts(ports));
/** The endpoints of a slice, with other ports. */
const listening = (pods: string, ports: string) => slice(KEY, pods, { ports: servicePorts(ports) });
const SERVED = [imported("http 80"), slice(KEY, "c1/n1/a")];
const TWO_PORTS = imported("http 80, admin 9000");

/** What a port is, and what becomes of ports and addresses that are none. */
export const PORT_CASES: readonly PacketCase[] = [
  packetCase(
    "each port has its own tiers: connections to a port that only another cluster exposes go there",
    [
      TWO_PORTS,
      slice(KEY, "c1/n1/a"),
      slice(KEY, "c2/n1/a", { ports: [...TARGETS, ...servicePorts("admin 8090")] }),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIP, 9000), "c2/n1/a:8090")],
  ),
  packetCase(
    "connections to a port that no cluster exposes are rejected, and those to the other port succeed",
    [TWO_PORTS, slice(KEY, "c1/n1/a")],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIP, 9000), "refused")],
  ),
  packetCase(
    "connections to a port that the import does not have are rejected, from pods and from the node",
    SERVED,
    [flows(BOTH, [tcp(VIP, 81), udp(VIP, 80)], "refused")],
  ),
  packetCase("connections to an unused address in the ClusterSet CIDR are rejected", SERVED, [
    flows(CLIENT, http(VIPS.unknown, VIPS.sixUnknown), "refused"),
    flows(CLIENT, [udp(VIPS.unknown, 53), udp(VIPS.sixUnknown, 53)], "refused"),
    flow(HOME, tcp(VIPS.unknown, 80), "refused"),
  ]),
  packetCase(
    "without any import, connections to the ClusterSet CIDR are rejected and nothing else is touched",
    [],
    [
      flow(CLIENT, tcp(VIP, 80), "refused"),
      flow(CLIENT, tcp(addressAt("c2/n1/a", "IPv4"), 8080), "untouched"),
      flow(HOME, tcp(addressAt("c2/n1/a", "IPv6"), 8080), "untouched"),
    ],
  ),
  packetCase(
    "a pod's own address is untouched beside an import with this endpoint",
    [imported("http 8080"), slice(KEY, "c1/n1/a")],
    [
      flow(CLIENT, tcp(addressAt("c1/n1/a", "IPv4"), 8080), "untouched"),
      flow(CLIENT, tcp(VIP, 8080), "c1/n1/a"),
    ],
  ),
  packetCase(
    "the addresses next to the ClusterSet CIDR are untouched",
    SERVED,
    [flows(CLIENT, http("240.255.255.255", "242.0.0.0", "fd00:241::10:0"), "untouched")],
    { real: false },
  ),
  packetCase(
    "UDP is forwarded like TCP, and an import can have one port number for both",
    [
      imported("dns 53/UDP, dns-tcp 53"),
      listening("c1/n1/a c1/n1/b", "dns 5353/UDP, dns-tcp 5354"),
    ],
    [
      flows(BOTH, udp(VIP, 53), "c1/n1/a:5353 c1/n1/b:5353"),
      flow(CLIENT, tcp(VIP, 53), "c1/n1/a:5354 c1/n1/b:5354"),
    ],
  ),
  packetCase(
    "UDP without an endpoint is rejected with port unreachable",
    [imported("dns 53/UDP")],
    [flows(BOTH, udp(VIP, 53), "refused")],
  ),
  packetCase(
    "SCTP",
    [imported("s1 36412/SCTP"), listening("c1/n1/a c1/n1/b", "s1 36412/SCTP")],
    [
      flow(CLIENT, sctp(VIP, 36412), "c1/n1/a:36412 c1/n1/b:36412"),
      flows(CLIENT, [sctp(VIP, 36413), tcp(VIP, 36412)], "refused"),
    ],
  ),
  packetCase(
    "ports of slices match the import's by name, not by number",
    [imported("http 80, admin 8080"), listening("c1/n1/a", "admin 80, http 8080")],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a:8080"), flow(CLIENT, tcp(VIP, 8080), "c1/n1/a:80")],
  ),
  packetCase(
    "a port with the same name and another protocol is another port",
    [imported("http 80"), listening("c1/n1/a", "http 8080/UDP")],
    [flow(CLIENT, tcp(VIP, 80), "refused")],
  ),
  packetCase(
    "clusters can listen on different ports",
    [
      imported("http 80"),
      slice(KEY, "c2/n1/a", { region: null }),
      listening("c3/n1/a", "http 8081"),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c2/n1/a:8080 c3/n1/a:8081")],
  ),
  packetCase(
    "two imports are independent, also if they share endpoints",
    [
      ...SERVED,
      importObject("shop/web", [VIPS.second], servicePorts("http 80")),
      slice("shop/web", "c1/n1/a c1/n1/b"),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIPS.second, 80), "c1/n1/a c1/n1/b")],
  ),
];
