import { importObject } from "../../generators/objects.ts";
import { addressAt, CLIENT, HOME, VIPS } from "../address-plan.ts";
import { slice, TARGETS } from "../objects.ts";
import { flow, type PacketCase, packetCase, sctp, tcp, udp } from "../packet-case.ts";

const KEY = "demo/serve";
const VIP = VIPS.first;
const HTTP = { name: "http", port: 80, protocol: "TCP" } as const;
const ADMIN = { name: "admin", port: 9000, protocol: "TCP" } as const;
const DNS = { name: "dns", port: 53, protocol: "UDP" } as const;

/** What a port is, and what becomes of ports and addresses that are none. */
export const PORT_CASES: readonly PacketCase[] = [
  packetCase(
    "each port has its own tiers: connections to a port that only another cluster exposes go there",
    [
      importObject(KEY, [VIP], [HTTP, ADMIN]),
      slice(KEY, "c1/n1/a"),
      slice(KEY, "c2/n1/a", {
        ports: [...TARGETS, { name: "admin", protocol: "TCP", port: 8090 }],
      }),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIP, 9000), "c2/n1/a:8090")],
  ),
  packetCase(
    "connections to a port that no cluster exposes are rejected, and those to the other port succeed",
    [importObject(KEY, [VIP], [HTTP, ADMIN]), slice(KEY, "c1/n1/a")],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIP, 9000), "refused")],
  ),
  packetCase(
    "connections to a port that the import does not have are rejected, from pods and from the node",
    [importObject(KEY, [VIP], [HTTP]), slice(KEY, "c1/n1/a")],
    [
      flow(CLIENT, tcp(VIP, 81), "refused"),
      flow(HOME, tcp(VIP, 81), "refused"),
      flow(CLIENT, udp(VIP, 80), "refused"),
      flow(HOME, udp(VIP, 80), "refused"),
    ],
  ),
  packetCase(
    "connections to an unused address in the ClusterSet CIDR are rejected",
    [importObject(KEY, [VIP], [HTTP]), slice(KEY, "c1/n1/a")],
    [
      flow(CLIENT, tcp(VIPS.unknown, 80), "refused"),
      flow(CLIENT, udp(VIPS.unknown, 53), "refused"),
      flow(HOME, tcp(VIPS.unknown, 80), "refused"),
      flow(CLIENT, tcp(VIPS.sixUnknown, 80), "refused"),
      flow(CLIENT, udp(VIPS.sixUnknown, 53), "refused"),
    ],
  ),
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
    [importObject(KEY, [VIP], [{ ...HTTP, port: 8080 }]), slice(KEY, "c1/n1/a")],
    [
      flow(CLIENT, tcp(addressAt("c1/n1/a", "IPv4"), 8080), "untouched"),
      flow(CLIENT, tcp(VIP, 8080), "c1/n1/a"),
    ],
  ),
  packetCase(
    "the addresses next to the ClusterSet CIDR are untouched",
    [importObject(KEY, [VIP], [HTTP]), slice(KEY, "c1/n1/a")],
    [
      flow(CLIENT, tcp("240.255.255.255", 80), "untouched"),
      flow(CLIENT, tcp("242.0.0.0", 80), "untouched"),
      flow(CLIENT, tcp("fd00:241::10:0", 80), "untouched"),
    ],
    { real: false },
  ),
  packetCase(
    "UDP is forwarded like TCP, and an import can have one port number for both",
    [
      importObject(KEY, [VIP], [{ ...DNS }, { name: "dns-tcp", port: 53, protocol: "TCP" }]),
      slice(KEY, "c1/n1/a c1/n1/b", {
        ports: [
          { name: "dns", protocol: "UDP", port: 5353 },
          { name: "dns-tcp", protocol: "TCP", port: 5354 },
        ],
      }),
    ],
    [
      flow(CLIENT, udp(VIP, 53), "c1/n1/a:5353 c1/n1/b:5353"),
      flow(CLIENT, tcp(VIP, 53), "c1/n1/a:5354 c1/n1/b:5354"),
      flow(HOME, udp(VIP, 53), "c1/n1/a:5353 c1/n1/b:5353"),
    ],
  ),
  packetCase(
    "UDP without an endpoint is rejected with port unreachable",
    [importObject(KEY, [VIP], [DNS])],
    [flow(CLIENT, udp(VIP, 53), "refused"), flow(HOME, udp(VIP, 53), "refused")],
  ),
  packetCase(
    "SCTP",
    [
      importObject(KEY, [VIP], [{ name: "s1", port: 36412, protocol: "SCTP" }]),
      slice(KEY, "c1/n1/a c1/n1/b", { ports: [{ name: "s1", protocol: "SCTP", port: 36412 }] }),
    ],
    [
      flow(CLIENT, sctp(VIP, 36412), "c1/n1/a:36412 c1/n1/b:36412"),
      flow(CLIENT, sctp(VIP, 36413), "refused"),
      flow(CLIENT, tcp(VIP, 36412), "refused"),
    ],
  ),
  packetCase(
    "ports of slices match the import's by name, not by number",
    [
      importObject(KEY, [VIP], [HTTP, { ...ADMIN, port: 8080 }]),
      slice(KEY, "c1/n1/a", {
        ports: [
          { name: "admin", protocol: "TCP", port: 80 },
          { name: "http", protocol: "TCP", port: 8080 },
        ],
      }),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a:8080"), flow(CLIENT, tcp(VIP, 8080), "c1/n1/a:80")],
  ),
  packetCase(
    "a port with the same name and another protocol is another port",
    [
      importObject(KEY, [VIP], [HTTP]),
      slice(KEY, "c1/n1/a", { ports: [{ name: "http", protocol: "UDP", port: 8080 }] }),
    ],
    [flow(CLIENT, tcp(VIP, 80), "refused")],
  ),
  packetCase(
    "clusters can listen on different ports",
    [
      importObject(KEY, [VIP], [HTTP]),
      slice(KEY, "c2/n1/a", { region: null }),
      slice(KEY, "c3/n1/a", { ports: [{ name: "http", protocol: "TCP", port: 8081 }] }),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c2/n1/a:8080 c3/n1/a:8081")],
  ),
  packetCase(
    "two imports are independent, also if they share endpoints",
    [
      importObject(KEY, [VIP], [HTTP]),
      importObject("shop/web", [VIPS.second], [HTTP]),
      slice(KEY, "c1/n1/a"),
      slice("shop/web", "c1/n1/a c1/n1/b"),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a"), flow(CLIENT, tcp(VIPS.second, 80), "c1/n1/a c1/n1/b")],
  ),
];
