import { endpointRangesProperty } from "../../api/endpoint-ranges.ts";
import { LABEL_REGION, LABEL_ZONE, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";
import { brief, casesOf, type ParserCase } from "./hostile-imports.ts";

type Problems = ParserCase["problems"];

/** A valid Node n1, with these changes. */
export function nodeObject(fields: Fields = {}, metadata: Fields = {}): Fields {
  return {
    metadata: {
      name: "n1",
      labels: { [LABEL_REGION]: "eu-west", [LABEL_ZONE]: "eu-west-a", "kubernetes.io/os": "linux" },
      ...metadata,
    },
    spec: { podCIDR: "10.1.3.0/24", podCIDRs: ["10.1.3.0/24", "fd10:1:3::/64"] },
    status: {
      addresses: [
        { type: "InternalIP", address: "192.0.2.3" },
        { type: "ExternalIP", address: "2001:DB8::3" },
        { type: "Hostname", address: "n1.example" },
      ],
    },
    ...fields,
  };
}

/** A ClusterProperty as a person would write it. */
export function clusterProperty(name: unknown, value: unknown): Fields {
  return {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name },
    spec: { value },
  };
}

const node = casesOf("a Node with", nodeObject);
const labels = casesOf("a Node with labels", (change) => nodeObject({}, { labels: change }));

function podCidr(text: unknown): ParserCase {
  const cidrs = { spec: { podCIDRs: [text, "10.1.4.0/24"] } };
  return node(cidrs, { podCidrs: ["10.1.4.0/24"] }, "invalid-cidr spec.podCIDRs[0]");
}

function address(change: Fields, reason: Reason): ParserCase {
  const good = { type: "InternalIP", address: "192.0.2.4" };
  const problem = `${reason} status.addresses[0].address` as const;
  return node({ status: { addresses: [change, good] } }, { addresses: ["192.0.2.4"] }, problem);
}

const UNNAMED = [undefined, null, "", 5, "A", "a_b", "__proto__", "a\nb", "n".repeat(254)];

/** Nodes, in which each mistake costs what is mistaken and no more. */
export const NODE_CASES: readonly ParserCase[] = [
  node({}, {}),
  ...UNNAMED.map((name) => ({
    name: `a Node of name ${brief(name)}`,
    object: nodeObject({}, { name }),
    fact: undefined,
    problems: ["invalid-name metadata.name"] as const,
  })),
  labels({}, { region: undefined, zone: undefined }),
  labels(
    { [LABEL_REGION]: "eu\nwest", [LABEL_ZONE]: 5 },
    { region: undefined, zone: undefined },
    `invalid-label metadata.labels[${LABEL_REGION}]`,
    `invalid-label metadata.labels[${LABEL_ZONE}]`,
  ),
  ...[{}, { podCIDRs: [] }].map((spec) => node({ spec }, { podCidrs: [] })),
  ...["10.0.0.0/8", Array(17).fill("10.0.0.0/8")].map((podCIDRs) =>
    node({ spec: { podCIDRs } }, { podCidrs: [] }, "invalid-object spec.podCIDRs"),
  ),
  ...["10.1.3.1/24", "10.1.3.0", "010.1.3.0/24", "::ffff:10.0.0.0/104"].map(podCidr),
  ...["", null, 5, {}].map(podCidr),
  ...[undefined, [null, 5, {}, { type: "Hostname", address: 5 }]].map((addresses) =>
    node({ status: { addresses } }, { addresses: [] }),
  ),
  node({ status: { addresses: {} } }, { addresses: [] }, "invalid-object status.addresses"),
  address({ type: "InternalIP" }, "invalid-address"),
  address({ type: "ExternalIP", address: "192.0.2.3 -j ACCEPT" }, "invalid-address"),
  address({ type: "InternalIP", address: "fe80::1%eth0" }, "zoned-address"),
  address({ type: "InternalIP", address: "::ffff:192.0.2.3" }, "mapped-address"),
];

function property(name: unknown, value: unknown, ...problems: Problems): ParserCase {
  const fact = problems.length === 0 ? { name, value } : undefined;
  const object = clusterProperty(name, value);
  return { name: `a property ${brief(name)} of ${brief(value)}`, object, fact, problems };
}

const RANGES_OF_C2 = endpointRangesProperty("c2");

/** ClusterProperties. */
export const CLUSTER_PROPERTY_CASES: readonly ParserCase[] = [
  property("tier.example.com", "gold"),
  property("tier.example.com", "any\ntext, \u202e also this"),
  property("tier.example.com", "x".repeat(128_000)),
  property("tier.example.com", "x".repeat(128_001), "invalid-object spec.value"),
  ...[undefined, null, "", 5, {}, ["gold"]].map((value) =>
    property("tier.example.com", value, "invalid-object spec.value"),
  ),
  ...UNNAMED.map((name) => property(name, "gold", "invalid-name metadata.name")),
  property(PROPERTY_CLUSTER_ID, "c1"),
  property(PROPERTY_CLUSTER_ID, "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
  property(PROPERTY_CLUSTER_ID, "c1.example"),
  ...["C1", "c1.a.b", "c1 -j ACCEPT", "c".repeat(64), "-"].map((id) =>
    property(PROPERTY_CLUSTER_ID, id, "invalid-name spec.value"),
  ),
  property(RANGES_OF_C2, "10.2.0.0/16,fd00:10:2::/48"),
  ...["10.2.0.1/16", "10.2.0.0/16,", "any"].map((ranges) =>
    property(RANGES_OF_C2, ranges, "invalid-cidr spec.value"),
  ),
];
