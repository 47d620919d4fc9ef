import { importObject } from "../../generators/objects.ts";
import { CLIENT, HOME, VIPS } from "../address-plan.ts";
import { notReady, ready, slice, terminating } from "../objects.ts";
import { at, type Expectation, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const VIP = VIPS.first;
const HTTP = { name: "http", port: 80, protocol: "TCP" } as const;
const HERE = ready("c1/n1/a");
const OTHER_ZONE = ready("c1/n2/c");

/** One import with a policy; what the client pod's connections come to. */
function policy(
  name: string,
  spec: object,
  slices: readonly object[],
  expect: Expectation,
): PacketCase {
  const serve = importObject(KEY, [VIP], [HTTP], spec);
  return packetCase(name, [serve, ...slices], [flow(CLIENT, tcp(VIP, 80), expect)]);
}

const ZONE = { trafficDistribution: "PreferSameZone" };
const CLOSE = { trafficDistribution: "PreferClose" };
const NODE = { trafficDistribution: "PreferSameNode" };
const LOCAL = { internalTrafficPolicy: "Local" };

const TWO_PORTS = [HTTP, { name: "https", port: 443, protocol: "TCP" }];
const TWO_TARGETS = [
  { name: "http", protocol: "TCP", port: 8080 },
  { name: "https", protocol: "TCP", port: 8443 },
] as const;

/** How an import's own wishes narrow the choice inside the active tier. */
export const POLICY_CASES: readonly PacketCase[] = [
  policy(
    "PreferSameZone: this node's zone",
    ZONE,
    [slice(KEY, [HERE, OTHER_ZONE])],
    [at("c1/n1/a")],
  ),
  policy("PreferClose is PreferSameZone", CLOSE, [slice(KEY, [HERE, OTHER_ZONE])], [at("c1/n1/a")]),
  policy(
    "PreferSameZone does not widen: without an endpoint in the zone, all of the tier",
    ZONE,
    [slice(KEY, [OTHER_ZONE]), slice(KEY, [ready("c2/n1/a")])],
    [at("c1/n2/c")],
  ),
  policy(
    "PreferSameZone selects among ready endpoints",
    ZONE,
    [slice(KEY, [notReady("c1/n1/a"), OTHER_ZONE])],
    [at("c1/n2/c")],
  ),
  policy(
    "PreferSameZone applies to zones of another cluster of the region",
    ZONE,
    [slice(KEY, [ready("c2/n1/a")])],
    [at("c2/n1/a")],
  ),
  policy(
    "PreferSameNode: this node's endpoints",
    NODE,
    [slice(KEY, [HERE, OTHER_ZONE])],
    [at("c1/n1/a")],
  ),
  policy(
    "PreferSameNode without one here: all of the tier",
    NODE,
    [slice(KEY, [OTHER_ZONE])],
    [at("c1/n2/c")],
  ),
  policy(
    "PreferSameNode means this cluster's node, not another cluster's node of the same name",
    NODE,
    [
      slice(KEY, [ready("c2/n1/a")], { name: "one" }),
      slice(KEY, [ready("c2/n1/b")], { name: "two" }),
    ],
    [at("c2/n1/a"), at("c2/n1/b")],
  ),
  policy(
    "internalTrafficPolicy Local: this node's endpoints",
    LOCAL,
    [slice(KEY, [HERE, OTHER_ZONE])],
    [at("c1/n1/a")],
  ),
  policy(
    "internalTrafficPolicy Local: without an endpoint on this node, rejected",
    LOCAL,
    [slice(KEY, [OTHER_ZONE]), slice(KEY, [ready("c2/n1/a")])],
    "refused",
  ),
  policy(
    "internalTrafficPolicy Local: a terminating endpoint on this node is used if there is no other",
    LOCAL,
    [slice(KEY, [terminating("c1/n1/a"), OTHER_ZONE])],
    [at("c1/n1/a")],
  ),
  packetCase(
    "ClientIP affinity: a client keeps its pod, on all ports of the import",
    [
      importObject(KEY, [VIP], TWO_PORTS, { sessionAffinity: "ClientIP" }),
      slice(KEY, [HERE, ready("c1/n1/b")], { ports: TWO_TARGETS }),
    ],
    [
      flow(
        CLIENT,
        tcp(VIP, 80),
        [at("c1/n1/a"), at("c1/n1/b")],
        [tcp(VIP, 80), tcp(VIP, 443), tcp(VIP, 80)],
      ),
      flow(HOME, tcp(VIP, 443), [at("c1/n1/a", 8443), at("c1/n1/b", 8443)], [tcp(VIP, 80)]),
    ],
  ),
  packetCase(
    "ClientIP affinity over several VIPs of the import",
    [
      importObject(KEY, [VIP, VIPS.far], [HTTP], { sessionAffinity: "ClientIP" }),
      slice(KEY, [HERE, ready("c1/n1/b"), OTHER_ZONE]),
    ],
    [
      flow(
        CLIENT,
        tcp(VIP, 80),
        [at("c1/n1/a"), at("c1/n1/b"), at("c1/n2/c")],
        [tcp(VIPS.far, 80), tcp(VIP, 80)],
      ),
    ],
  ),
  packetCase(
    "ClientIP affinity with one endpoint, and with none",
    [importObject(KEY, [VIP], TWO_PORTS, { sessionAffinity: "ClientIP" }), slice(KEY, [HERE])],
    [
      flow(CLIENT, tcp(VIP, 80), [at("c1/n1/a")], [tcp(VIP, 80)]),
      flow(CLIENT, tcp(VIP, 443), "refused"),
    ],
  ),
];
