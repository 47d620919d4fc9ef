import type { NodeFact } from "../../../agent/model/facts.ts";
import { ANNOTATION_PREVIOUS_IPS } from "../../../api/keys.ts";
import { servicePorts } from "../../generators/export-records.ts";
import { cidr } from "../../generators/facts.ts";
import { importObject } from "../../generators/objects.ts";
import { addressAt, CLIENT, HOME, VIPS } from "../address-plan.ts";
import { slice } from "../objects.ts";
import { flow, flows, http, type PacketCase, packetCase, tcp, udp } from "../packet-case.ts";

const KEY = "demo/serve";
const FAR = "demo/far";
const HTTP = { name: "http", port: 80, protocol: "TCP" } as const;
const V6 = { family: "IPv6" } as const;

/** Explicit VIPs, scattered and close together. */
const MANY_EXPLICIT: readonly string[] = [
  VIPS.explicit,
  ...[...Array(16).keys()].map((i) => `198.51.100.${i * 7 + 1}`),
  "203.0.113.200",
];
const MANY_EXPLICIT_SIX = [...Array(17).keys()].map((i) => `2001:db8:${i}::10`);

/** Imports with VIPs on these addresses, each leading to the same endpoint. */
const lead = (ips: readonly string[]) => [
  importObject(KEY, ips, [HTTP]),
  slice(KEY, "c1/n1/a"),
  slice(KEY, "c1/n1/a", V6),
];
const arrive = (ips: readonly string[]) => flows(CLIENT, http(...ips), "c1/n1/a");

/** Where the import beside leads to: an endpoint, and an explicit VIP of the other import. */
const ENDPOINT = {
  IPv4: addressAt("c2/n1/a", "IPv4"),
  IPv6: addressAt("c2/n1/a", "IPv6"),
} as const;
/** An import with these VIPs, beside one with VIPs in the CIDRs whose endpoint is c2/n1/a. */
const beside = (ips: readonly string[]) => [
  ...lead(ips),
  importObject(FAR, [VIPS.far, VIPS.six], [HTTP]),
  slice(FAR, "c2/n1/a"),
  slice(FAR, "c2/n1/a", V6),
];
const BESIDE = [
  flows([CLIENT, HOME], http(VIPS.far, VIPS.six), "c2/n1/a"),
  // The VIP is not programmed (`vip-in-use`): the endpoint keeps its address.
  flows([CLIENT, HOME], [tcp(ENDPOINT.IPv4, 8080), tcp(ENDPOINT.IPv6, 8080)], "untouched"),
];

const OLD_RANGES = "241.0.0.0/8,fd00:241::/108";
const NEW_RANGES = "242.0.0.0/8,fd00:242::/108";
/** Many VIPs in each range. */
const SCATTERED = ["241", "242"].flatMap((first) =>
  [...Array(17).keys()].map((i) => `${first}.${i * 9}.${i * 7}.7`),
);

const SPREAD =
  "241.0.0.1 241.0.0.14 241.0.0.16 241.0.1.1 241.0.15.254 241.0.16.1 241.255.255.254".split(" ");

/** VIPs: how many, where, and of which family. */
export const ADDRESS_CASES: readonly PacketCase[] = [
  packetCase(
    "several VIPs of one import, near and far",
    lead([VIPS.first, VIPS.second, VIPS.far]),
    arrive([VIPS.first, VIPS.second, VIPS.far]),
  ),
  packetCase("VIPs in all parts of a range, some with the same last digits", lead(SPREAD), [
    arrive(SPREAD),
    flows(CLIENT, http("241.0.0.15", "241.0.17.1", "241.128.0.1"), "refused"),
  ]),
  packetCase("an explicit VIP outside the ClusterSet CIDR", lead([VIPS.explicit]), [
    flows([CLIENT, HOME], http(VIPS.explicit), "c1/n1/a"),
  ]),
  packetCase(
    "a port of an explicit VIP without an endpoint is refused",
    [importObject(KEY, [VIPS.explicit, VIPS.explicitSix], [HTTP])],
    [
      flows([CLIENT, HOME], http(VIPS.explicit), "refused"),
      flow(CLIENT, tcp(VIPS.explicitSix, 80), "refused"),
    ],
  ),
  packetCase(
    "other ports of an explicit VIP belong to the owner of the address",
    lead([VIPS.explicit, VIPS.explicitSix]),
    [
      flows([CLIENT, HOME], tcp(VIPS.explicit, 81), "unserved"),
      flows(CLIENT, [udp(VIPS.explicit, 80), tcp(VIPS.explicitSix, 81)], "unserved"),
    ],
    { real: false },
  ),
  packetCase(
    `other ports of ${MANY_EXPLICIT.length} explicit VIPs belong to the owners of the addresses`,
    lead([...MANY_EXPLICIT, ...MANY_EXPLICIT_SIX]),
    [
      flow(CLIENT, tcp("198.51.100.8", 81), "unserved"),
      flow(HOME, udp("203.0.113.200", 80), "unserved"),
      flow(CLIENT, tcp("2001:db8:3::10", 81), "unserved"),
    ],
    { real: false },
  ),
  packetCase(
    "addresses next to an explicit VIP are untouched",
    lead([VIPS.explicit]),
    [flow(CLIENT, tcp("1.2.3.5", 80), "untouched"), flow(HOME, tcp("1.2.3.3", 80), "untouched")],
    { real: false },
  ),
  packetCase("an explicit VIP beside one in the CIDR", lead([VIPS.explicit, VIPS.first]), [
    arrive([VIPS.explicit, VIPS.first]),
    flow(CLIENT, tcp(VIPS.first, 81), "refused"),
  ]),
  packetCase(`${MANY_EXPLICIT.length} explicit VIPs`, lead([...MANY_EXPLICIT, VIPS.first]), [
    arrive([...MANY_EXPLICIT, VIPS.first]),
    flow(HOME, tcp("198.51.100.8", 80), "c1/n1/a"),
    flow(CLIENT, tcp(VIPS.unknown, 80), "refused"),
  ]),
  packetCase(
    `the neighbours of ${MANY_EXPLICIT.length} explicit VIPs are untouched`,
    lead(MANY_EXPLICIT),
    [
      flows(CLIENT, http("198.51.100.2", "203.0.113.201"), "untouched"),
      flow(HOME, tcp("192.0.2.1", 80), "untouched"),
    ],
    { real: false },
  ),
  packetCase(
    "an explicit VIP that is another import's endpoint does not affect that import",
    beside([ENDPOINT.IPv4, ENDPOINT.IPv6]),
    BESIDE,
  ),
  packetCase(
    `${MANY_EXPLICIT.length + 1} explicit VIPs, one of them another import's endpoint, leave that import alone`,
    beside([ENDPOINT.IPv4, ENDPOINT.IPv6, ...MANY_EXPLICIT, ...MANY_EXPLICIT_SIX]),
    BESIDE,
  ),
  ...[
    [NEW_RANGES, OLD_RANGES],
    [OLD_RANGES, NEW_RANGES],
  ].map((ranges) =>
    packetCase(
      `two ranges of a family, ${ranges.join(" before ")}: VIPs of both, listed and previous ones`,
      [
        annotated(importObject(KEY, ["242.0.0.10", "fd00:242::10"], [HTTP]), {
          [ANNOTATION_PREVIOUS_IPS]: `${VIPS.first},${VIPS.six}`,
        }),
        slice(KEY, "c1/n1/a"),
        slice(KEY, "c1/n1/a", V6),
        importObject(FAR, [VIPS.far, "fd00:242::77", ...SCATTERED], [HTTP]),
        slice(FAR, "c1/n1/b"),
        slice(FAR, "c1/n1/b", V6),
      ],
      [
        arrive([VIPS.first, VIPS.six, "242.0.0.10", "fd00:242::10"]),
        flows(HOME, http(VIPS.first, "242.0.0.10"), "c1/n1/a"),
        flows(CLIENT, http(VIPS.far, "fd00:242::77", ...SCATTERED), "c1/n1/b"),
        flows(CLIENT, http(VIPS.unknown, VIPS.sixUnknown), "refused"),
        flows(CLIENT, http("242.0.0.99", "fd00:242::99"), "refused"),
        flows(CLIENT, [tcp(VIPS.first, 81), udp("242.0.0.10", 80)], "refused"),
      ],
      { node: withRanges(ranges.join()) },
    ),
  ),
  packetCase(
    "a range and a part of it: VIPs of both",
    lead(["241.0.0.10", "241.7.0.10", ...SCATTERED.filter((ip) => ip.startsWith("241."))]),
    [
      arrive(["241.0.0.10", "241.7.0.10", ...SCATTERED.filter((ip) => ip.startsWith("241."))]),
      flows(CLIENT, http("241.0.0.99", "241.7.0.99"), "refused"),
    ],
    { node: withRanges("241.0.0.0/16,241.0.0.0/8,fd00:241::/108") },
  ),
  packetCase(
    "IPv6 explicit VIPs, one and many",
    lead([VIPS.explicitSix, ...MANY_EXPLICIT_SIX]),
    arrive([VIPS.explicitSix, ...MANY_EXPLICIT_SIX]),
  ),
  packetCase(
    "dual stack: each family has its own endpoints and tiers",
    [
      importObject(KEY, [VIPS.first, VIPS.six], [HTTP]),
      slice(KEY, "c1/n1/a c1/n1/b"),
      slice(KEY, "c2/n1/a", V6),
      slice(KEY, "c3/n1/a", V6),
    ],
    [
      flow(CLIENT, tcp(VIPS.first, 80), "c1/n1/a c1/n1/b"),
      flows([CLIENT, HOME], http(VIPS.six), "c2/n1/a"),
      flows(CLIENT, [tcp(VIPS.six, 81), udp(VIPS.six, 80)], "refused"),
    ],
  ),
  packetCase(
    "IPv6 only: no IPv4 rules, with and without IPv4 slices",
    [importObject(KEY, [VIPS.six], [HTTP]), slice(KEY, "c1/n1/b"), slice(KEY, "c1/n1/a", V6)],
    [flow(CLIENT, tcp(VIPS.six, 80), "c1/n1/a"), flow(CLIENT, tcp(VIPS.first, 80), "refused")],
  ),
  packetCase(
    "connections to a VIP of a family without endpoints are rejected",
    [importObject(KEY, [VIPS.first, VIPS.six], [HTTP]), slice(KEY, "c1/n1/a")],
    [flow(CLIENT, tcp(VIPS.first, 80), "c1/n1/a"), flow(CLIENT, tcp(VIPS.six, 80), "refused")],
  ),
  packetCase(
    "IPv6 affinity and UDP",
    [
      importObject(KEY, [VIPS.six], servicePorts("http 80, dns 53/UDP"), {
        sessionAffinity: "ClientIP",
      }),
      slice(KEY, "c1/n1/a c1/n1/b", { ...V6, ports: servicePorts("http 8080, dns 5353/UDP") }),
    ],
    [
      flow(CLIENT, udp(VIPS.six, 53), "c1/n1/a:5353 c1/n1/b:5353", [
        tcp(VIPS.six, 80),
        udp(VIPS.six, 53),
      ]),
    ],
  ),
];

/** A node whose agent has these ClusterSet CIDRs. */
function withRanges(ranges: string) {
  return (home: NodeFact) => ({ ...home, clusterSetCidrs: ranges.split(",").map(cidr) });
}

function annotated(object: object, annotations: Readonly<Record<string, string>>): object {
  const { metadata } = object as { metadata: object };
  return { ...object, metadata: { ...metadata, annotations } };
}
