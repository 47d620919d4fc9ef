import { importObject } from "../../generators/objects.ts";
import { CLIENT, HOME, VIPS } from "../address-plan.ts";
import { slice, slices } from "../objects.ts";
import { type Expected, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const VIP = VIPS.first;
const HTTP = { name: "http", port: 80, protocol: "TCP" } as const;

/** One import with a policy and these endpoints; what the client pod's connections come to. */
function policy(name: string, spec: object, endpoints: string, expected: Expected): PacketCase {
  const serve = importObject(KEY, [VIP], [HTTP], spec);
  const flows = [flow(CLIENT, tcp(VIP, 80), expected)];
  return packetCase(name, [serve, ...slices(KEY, endpoints)], flows);
}

const ZONE = { trafficDistribution: "PreferSameZone" };
const NODE = { trafficDistribution: "PreferSameNode" };
const LOCAL = { internalTrafficPolicy: "Local" };

const TWO_PORTS = [HTTP, { name: "https", port: 443, protocol: "TCP" }];
const TWO_TARGETS = [
  { name: "http", protocol: "TCP", port: 8080 },
  { name: "https", protocol: "TCP", port: 8443 },
] as const;

/** How an import's own wishes narrow the choice inside the active tier. */
export const POLICY_CASES: readonly PacketCase[] = [
  policy("PreferSameZone: this node's zone", ZONE, "c1/n1/a c1/n2/c", "c1/n1/a"),
  policy(
    "PreferSameZone does not widen: without an endpoint in the zone, all of the tier",
    ZONE,
    "c1/n2/c c2/n1/a",
    "c1/n2/c",
  ),
  policy("PreferSameNode: this node's endpoints", NODE, "c1/n1/a c1/n2/c", "c1/n1/a"),
  policy("internalTrafficPolicy Local: this node's endpoints", LOCAL, "c1/n1/a c1/n2/c", "c1/n1/a"),
  policy(
    "internalTrafficPolicy Local: without an endpoint on this node, rejected",
    LOCAL,
    "c1/n2/c c2/n1/a",
    "refused",
  ),
  packetCase(
    "ClientIP affinity: a client keeps its pod, on all ports of the import",
    [
      importObject(KEY, [VIP], TWO_PORTS, { sessionAffinity: "ClientIP" }),
      slice(KEY, "c1/n1/a c1/n1/b", { ports: TWO_TARGETS }),
    ],
    [
      flow(CLIENT, tcp(VIP, 80), "c1/n1/a c1/n1/b", [tcp(VIP, 80), tcp(VIP, 443), tcp(VIP, 80)]),
      flow(HOME, tcp(VIP, 443), "c1/n1/a:8443 c1/n1/b:8443", [tcp(VIP, 80)]),
    ],
  ),
  packetCase(
    "ClientIP affinity over several VIPs of the import",
    [
      importObject(KEY, [VIP, VIPS.far], [HTTP], { sessionAffinity: "ClientIP" }),
      slice(KEY, "c1/n1/a c1/n1/b c1/n2/c"),
    ],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a c1/n1/b c1/n2/c", [tcp(VIPS.far, 80), tcp(VIP, 80)])],
  ),
  packetCase(
    "ClientIP affinity with one endpoint, and with none",
    [importObject(KEY, [VIP], TWO_PORTS, { sessionAffinity: "ClientIP" }), slice(KEY, "c1/n1/a")],
    [flow(CLIENT, tcp(VIP, 80), "c1/n1/a", [tcp(VIP, 80)]), flow(CLIENT, tcp(VIP, 443), "refused")],
  ),
];
