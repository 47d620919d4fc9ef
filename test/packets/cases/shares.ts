import type { Family } from "../../../api/address.ts";
import {
  ANNOTATION_CLUSTER_SELECTORS,
  ANNOTATION_CLUSTER_WEIGHTS,
  ANNOTATION_MIN_READY,
  ANNOTATION_UNSELECTED_CLUSTERS,
} from "../../../api/keys.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { notReady, ready, serving, slice, terminating } from "../objects.ts";
import {
  at,
  atPart,
  type Expectation,
  flow,
  type PacketCase,
  packetCase,
  tcp,
  udp,
} from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const ALL_ALIKE = { [ANNOTATION_CLUSTER_SELECTORS]: "[]" };
const EUROPE = {
  [ANNOTATION_CLUSTER_SELECTORS]: JSON.stringify([
    {
      propertySelector: {
        matchExpressions: [
          { key: "cluster.clusterset.k8s.io", operator: "In", values: ["c1", "c3"] },
        ],
      },
    },
  ]),
};
const NEVER = { [ANNOTATION_UNSELECTED_CLUSTERS]: "never" };

interface More {
  readonly spec?: object;
  readonly from?: string;
  /** The same client's connections afterwards come to the same pod. */
  readonly again?: true;
  readonly family?: Family;
}

/** An import with these annotations, and what connections come to. */
function annotated(
  name: string,
  annotations: Readonly<Record<string, string>>,
  slices: readonly object[],
  expect: Expectation,
  { spec = {}, from = CLIENT, again, family = "IPv4" }: More = {},
): PacketCase {
  const vip = family === "IPv4" ? VIPS.first : VIPS.six;
  const serve = importObject(KEY, [vip], HTTP, spec) as { metadata: object };
  const object = { ...serve, metadata: { ...serve.metadata, annotations } };
  const target = tcp(vip, 80);
  const flows = [flow(from, target, expect, again ? [target, target] : [])];
  return packetCase(name, [object, ...slices], flows);
}

function weighted(
  name: string,
  weights: string,
  slices: readonly object[],
  expect: Expectation,
  more?: More,
): PacketCase {
  const annotations = { ...ALL_ALIKE, [ANNOTATION_CLUSTER_WEIGHTS]: weights };
  return annotated(`weights: ${name}`, annotations, slices, expect, more);
}

/** Three endpoints in c1, two in c2, one in c3. */
const ALL = (family: Family = "IPv4") => [
  slice(KEY, [ready("c1/n1/a"), ready("c1/n1/b"), ready("c1/n2/c")], { family }),
  slice(KEY, [ready("c2/n1/a"), ready("c2/n1/b")], { family }),
  slice(KEY, [ready("c3/n1/a")], { family }),
];
/** c1 gets a quarter of the connections, for three endpoints, and c2 the rest, for two. */
const ONE_TO_THREE = [
  ...["c1/n1/a", "c1/n1/b", "c1/n2/c"].map((pod) => atPart(2, pod)),
  ...["c2/n1/a", "c2/n1/b"].map((pod) => atPart(9, pod)),
];
const AFFINITY = { sessionAffinity: "ClientIP" };

/** What imports get whose clusters have weights. */
const WEIGHT_CASES: readonly PacketCase[] = [
  weighted("shares of clusters, whatever their endpoints are", "c1=1,c2=3", ALL(), ONE_TO_THREE),
  weighted("the same with a common divisor", "c2=75, c1=25", ALL(), ONE_TO_THREE),
  weighted("the same with IPv6", "c1=1,c2=3", ALL("IPv6"), ONE_TO_THREE, { family: "IPv6" }),
  weighted("a client keeps its endpoint", "c1=1,c2=3", ALL(), ONE_TO_THREE, {
    spec: AFFINITY,
    again: true,
  }),
  weighted("a client keeps its endpoint with IPv6", "c1=1,c2=3", ALL("IPv6"), ONE_TO_THREE, {
    spec: AFFINITY,
    again: true,
    family: "IPv6",
  }),
  weighted("all of them for one cluster", "c1=0,c2=1", ALL(), [at("c2/n1/a"), at("c2/n1/b")]),
  weighted(
    "the other cluster when one has no endpoint",
    "c1=1,c2=99",
    [slice(KEY, [ready("c1/n1/a")]), slice(KEY, [notReady("c2/n1/a")]), ...ALL().slice(2)],
    [at("c1/n1/a")],
  ),
  weighted(
    "clusters without a weight when no other has an endpoint",
    "c2=1",
    [slice(KEY, [ready("c1/n1/a"), ready("c1/n1/b")]), ...ALL().slice(2)],
    [at("c1/n1/a"), at("c1/n1/b"), at("c3/n1/a")],
  ),
  weighted(
    "PreferSameNode narrows inside each cluster",
    "c1=1,c2=1",
    ALL(),
    [
      ...["c1/n1/a", "c1/n1/b"].map((pod) => atPart(1, pod)),
      ...["c2/n1/a", "c2/n1/b"].map((pod) => atPart(1, pod)),
    ],
    { spec: { trafficDistribution: "PreferSameNode" } },
  ),
  weighted(
    "a pod that is an endpoint gets its part of its own connections",
    "c1=3,c2=1",
    [slice(KEY, [ready("c1/n1/a")]), slice(KEY, [ready("c2/n1/a")])],
    [{ ...atPart(3, "c1/n1/a"), masquerade: true }, atPart(1, "c2/n1/a")],
    { from: "c1/n1/a" },
  ),
  annotated(
    "weights: not between tiers",
    { [ANNOTATION_CLUSTER_WEIGHTS]: "c1=1,c2=99" },
    ALL(),
    ["c1/n1/a", "c1/n1/b", "c1/n2/c"].map((pod) => at(pod)),
  ),
];

/** Who gets the traffic of imports that allow selected clusters only. */
const WALL_CASES: readonly PacketCase[] = [
  annotated("walls: inside, the nearest", { ...EUROPE, ...NEVER }, ALL().slice(1), [at("c3/n1/a")]),
  annotated(
    "walls: nobody outside, where nobody inside is ready",
    { ...EUROPE, ...NEVER },
    [slice(KEY, [notReady("c1/n1/a")]), slice(KEY, [ready("c2/n1/a")])],
    "refused",
  ),
  annotated(
    "walls: nobody outside at the last resort",
    { ...EUROPE, ...NEVER },
    [slice(KEY, [serving("c2/n1/a"), terminating("c2/n1/b")])],
    "refused",
  ),
  annotated(
    "walls: inside, one that only serves, before ready ones outside",
    { ...EUROPE, ...NEVER },
    [slice(KEY, [ready("c2/n1/a")]), slice(KEY, [serving("c3/n1/a")])],
    [at("c3/n1/a")],
  ),
  annotated(
    "walls: an endpoint of unknown origin is outside",
    { ...EUROPE, ...NEVER },
    [slice(KEY, [ready("c1/n1/a")], { cluster: null })],
    "refused",
  ),
  annotated(
    "walls: without selectors, this cluster and this region only",
    NEVER,
    [slice(KEY, [ready("c3/n1/a")])],
    "refused",
  ),
  annotated(
    "walls: without selectors, another cluster of this region",
    NEVER,
    [slice(KEY, [ready("c2/n1/a")]), slice(KEY, [ready("c3/n1/a")])],
    [at("c2/n1/a")],
  ),
  packetCase(
    "walls: datagrams, too",
    [
      {
        ...importObject(KEY, [VIPS.first], [{ name: "dns", port: 53, protocol: "UDP" }]),
        metadata: { namespace: "demo", name: "serve", annotations: NEVER },
      },
      slice(KEY, [ready("c3/n1/a")], { ports: [{ name: "dns", protocol: "UDP", port: 5353 }] }),
    ],
    [flow(CLIENT, udp(VIPS.first, 53), "refused")],
  ),
];

const TWO = { [ANNOTATION_MIN_READY]: "2" };

/** The tier of imports that want enough ready endpoints. */
const ENOUGH_CASES: readonly PacketCase[] = [
  annotated(
    "min-ready: the next tier that has enough",
    TWO,
    [slice(KEY, [ready("c1/n1/a"), notReady("c1/n1/b"), notReady("c1/n2/c")]), ...ALL().slice(1)],
    [at("c2/n1/a"), at("c2/n1/b")],
  ),
  annotated(
    "min-ready: the nearest ready one where no tier has enough",
    TWO,
    [slice(KEY, [ready("c1/n1/a"), notReady("c1/n1/b")]), ...ALL().slice(2)],
    [at("c1/n1/a")],
  ),
  annotated(
    "min-ready: a part of the endpoints",
    { [ANNOTATION_MIN_READY]: "60%" },
    [slice(KEY, [ready("c1/n1/a"), notReady("c1/n1/b")]), ...ALL().slice(1)],
    [at("c2/n1/a"), at("c2/n1/b")],
  ),
];

/** The clusters and tiers that policies of an import choose, and their shares. */
export const SHARE_CASES: readonly PacketCase[] = [...WEIGHT_CASES, ...WALL_CASES, ...ENOUGH_CASES];
