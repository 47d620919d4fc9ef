import { importObject } from "../../generators/objects.ts";
import { CLIENT, HOME, VIPS } from "../address-plan.ts";
import { slice } from "../objects.ts";
import { flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const VIP = VIPS.first;
const HTTP = { name: "http", port: 80, protocol: "TCP" } as const;

const TWO_PORTS = [HTTP, { name: "https", port: 443, protocol: "TCP" }];
const TWO_TARGETS = [
  { name: "http", protocol: "TCP", port: 8080 },
  { name: "https", protocol: "TCP", port: 8443 },
] as const;

/** Which endpoint a client keeps. */
export const POLICY_CASES: readonly PacketCase[] = [
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
