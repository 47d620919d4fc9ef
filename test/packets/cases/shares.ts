import type { Family } from "../../../api/address.ts";
import {
  ANNOTATION_CLUSTER_SELECTORS,
  ANNOTATION_CLUSTER_WEIGHTS,
  ANNOTATION_MIN_READY,
  ANNOTATION_UNSELECTED_CLUSTERS,
} from "../../../api/keys.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { slice, slices } from "../objects.ts";
import {
  atPart,
  type Expected,
  flow,
  type PacketCase,
  packetCase,
  tcp,
  udp,
} from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const ALL_ALIKE = { [ANNOTATION_CLUSTER_SELECTORS]: "[]" };
const IN_EUROPE = { key: "cluster.clusterset.k8s.io", operator: "In", values: ["c1", "c3"] };
const EUROPE = {
  [ANNOTATION_CLUSTER_SELECTORS]: JSON.stringify([
    { propertySelector: { matchExpressions: [IN_EUROPE] } },
  ]),
};
const NEVER = { [ANNOTATION_UNSELECTED_CLUSTERS]: "never" };
const WALL = { ...EUROPE, ...NEVER };

interface More {
  readonly spec?: object;
  readonly from?: string;
  /** The same client's connections afterwards come to the same pod. */
  readonly again?: true;
  readonly family?: Family;
}

/** An import with these annotations and endpoints, and what connections come to. */
function annotated(
  name: string,
  annotations: Readonly<Record<string, string>>,
  endpoints: string | readonly object[],
  expected: Expected,
  { spec = {}, from = CLIENT, again, family = "IPv4" }: More = {},
): PacketCase {
  const vip = family === "IPv4" ? VIPS.first : VIPS.six;
  const serve = importObject(KEY, [vip], HTTP, spec) as { metadata: object };
  const object = { ...serve, metadata: { ...serve.metadata, annotations } };
  const target = tcp(vip, 80);
  const flows = [flow(from, target, expected, again ? [target, target] : [])];
  const of = typeof endpoints === "string" ? slices(KEY, endpoints, () => ({ family })) : endpoints;
  return packetCase(name, [object, ...of], flows);
}

function weighted(
  name: string,
  weights: string,
  endpoints: string,
  expected: Expected,
  more?: More,
): PacketCase {
  const annotations = { ...ALL_ALIKE, [ANNOTATION_CLUSTER_WEIGHTS]: weights };
  return annotated(`weights: ${name}`, annotations, endpoints, expected, more);
}

const C1 = "c1/n1/a c1/n1/b c1/n2/c";
const C2 = "c2/n1/a c2/n1/b";
const C3 = "c3/n1/a";
const ALL = `${C1} ${C2} ${C3}`;
const parts = (part: number, pods: string) => pods.split(" ").map((pod) => atPart(part, pod));
/** c1 gets a quarter of the connections, for three endpoints, and c2 the rest, for two. */
const ONE_TO_THREE = [...parts(2, C1), ...parts(9, C2)];
const STICKY = { spec: { sessionAffinity: "ClientIP" }, again: true } as const;

/** What imports get whose clusters have weights. */
const WEIGHT_CASES: readonly PacketCase[] = [
  weighted("shares of clusters, whatever their endpoints are", "c1=1,c2=3", ALL, ONE_TO_THREE),
  weighted("the same with a common divisor", "c2=75, c1=25", ALL, ONE_TO_THREE),
  weighted("the same with IPv6", "c1=1,c2=3", ALL, ONE_TO_THREE, { family: "IPv6" }),
  weighted("a client keeps its endpoint", "c1=1,c2=3", ALL, ONE_TO_THREE, STICKY),
  weighted("a client keeps its endpoint with IPv6", "c1=1,c2=3", ALL, ONE_TO_THREE, {
    ...STICKY,
    family: "IPv6",
  }),
  weighted("all of them for one cluster", "c1=0,c2=1", ALL, C2),
  weighted(
    "the other cluster when one has no endpoint",
    "c1=1,c2=99",
    `c1/n1/a c2/n1/a:not-ready ${C3}`,
    "c1/n1/a",
  ),
  weighted(
    "clusters without a weight when no other has an endpoint",
    "c2=1",
    `c1/n1/a c1/n1/b ${C3}`,
    "c1/n1/a c1/n1/b c3/n1/a",
  ),
  weighted(
    "PreferSameNode narrows inside each cluster",
    "c1=1,c2=1",
    ALL,
    parts(1, `c1/n1/a c1/n1/b ${C2}`),
    { spec: { trafficDistribution: "PreferSameNode" } },
  ),
  weighted(
    "a pod that is an endpoint gets its part of its own connections",
    "c1=3,c2=1",
    "c1/n1/a c2/n1/a",
    [{ ...atPart(3, "c1/n1/a"), masquerade: true }, atPart(1, "c2/n1/a")],
    { from: "c1/n1/a" },
  ),
  annotated("weights: not between tiers", { [ANNOTATION_CLUSTER_WEIGHTS]: "c1=1,c2=99" }, ALL, C1),
];

/** Who gets the traffic of imports that allow selected clusters only. */
const WALL_CASES: readonly PacketCase[] = [
  annotated("walls: inside, the nearest", WALL, `${C2} ${C3}`, "c3/n1/a"),
  annotated(
    "walls: nobody outside, where nobody inside is ready",
    WALL,
    "c1/n1/a:not-ready c2/n1/a",
    "refused",
  ),
  annotated(
    "walls: an endpoint of unknown origin is outside",
    WALL,
    [slice(KEY, "c1/n1/a", { cluster: null })],
    "refused",
  ),
  annotated(
    "walls: without selectors, this cluster and this region only",
    NEVER,
    "c3/n1/a",
    "refused",
  ),
  packetCase(
    "walls: datagrams, too",
    [
      {
        ...importObject(KEY, [VIPS.first], [{ name: "dns", port: 53, protocol: "UDP" }]),
        metadata: { namespace: "demo", name: "serve", annotations: NEVER },
      },
      slice(KEY, "c3/n1/a", { ports: [{ name: "dns", protocol: "UDP", port: 5353 }] }),
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
    `c1/n1/a c1/n1/b:not-ready c1/n2/c:not-ready ${C2} ${C3}`,
    C2,
  ),
];

/** The clusters and tiers that policies of an import choose, and their shares. */
export const SHARE_CASES: readonly PacketCase[] = [...WEIGHT_CASES, ...WALL_CASES, ...ENOUGH_CASES];
