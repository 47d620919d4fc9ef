import type { NodeFact } from "../../../agent/model/facts.ts";
import { ANNOTATION_CLUSTER_SELECTORS } from "../../../api/keys.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { slice, slices } from "../objects.ts";
import { type Expected, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const SAME = "@SameAsImporter@";
const GPU = "gpu.example.com";
const CONTINENT = "continent.example.com";

/** The first node's cluster is in Europe; so is c3, though in another region. c2 has big machines. */
const PROPERTIES: Readonly<Record<"c1" | "c2" | "c3", Readonly<Record<string, string>>>> = {
  c1: { [CONTINENT]: "europe" },
  c2: { [CONTINENT]: "asia", [GPU]: "big" },
  c3: { [CONTINENT]: "europe", [GPU]: "small" },
};

type Selector = Readonly<Record<"matchProperties" | "matchExpressions", unknown>>;

const same = (property: string): Partial<Selector> => ({ matchProperties: { [property]: SAME } });
const LOCAL = same("cluster.clusterset.k8s.io");
const REGIONAL = same("region.topology.k8s.io");
const expressions = (...matchExpressions: readonly object[]) => ({ matchExpressions });
const HAS_GPU = expressions({ key: GPU, operator: "Exists" });
const NOT_HERE = expressions({
  key: "cluster.clusterset.k8s.io",
  operator: "NotIn",
  values: [SAME],
});

/** An import with these selectors in its annotation; what the client pod's connections come to. */
function selected(
  name: string,
  selectors: readonly Partial<Selector>[],
  endpoints: string | readonly object[],
  expected: Expected,
  spec: object = {},
): PacketCase {
  const list = selectors.map((propertySelector) => ({ propertySelector }));
  const serve = importObject(KEY, [VIPS.first], HTTP, spec) as { metadata: object };
  const annotations = { [ANNOTATION_CLUSTER_SELECTORS]: JSON.stringify(list) };
  const annotated = { ...serve, metadata: { ...serve.metadata, annotations } };
  const flows = [flow(CLIENT, tcp(VIPS.first, 80), expected)];
  const of = typeof endpoints === "string" ? located(endpoints) : endpoints;
  return packetCase(name, [annotated, ...of], flows, { node: inEurope });
}

function inEurope(home: NodeFact): NodeFact {
  return { ...home, properties: new Map(Object.entries(PROPERTIES.c1)) };
}

/** Slices with the properties of their clusters. */
function located(endpoints: string): object[] {
  return slices(KEY, endpoints, (cluster) => ({
    properties: PROPERTIES[cluster as keyof typeof PROPERTIES],
  }));
}

const ALL = "c1/n1/a c2/n1/a c3/n1/a";

/** The clusters that get the traffic of imports with cluster selectors. */
export const SELECTOR_CASES: readonly PacketCase[] = [
  selected("selectors: the first entry that matches", [LOCAL, REGIONAL], ALL, "c1/n1/a"),
  selected("selectors: the first entry may be far away", [HAS_GPU, LOCAL], ALL, "c2/n1/a c3/n1/a"),
  selected(
    "selectors: the second entry when no endpoint of the first is ready",
    [LOCAL, same(CONTINENT)],
    "c1/n1/a:not-ready c2/n1/a c3/n1/a",
    "c3/n1/a",
  ),
  selected(
    "selectors: the remainder when no endpoint of any entry is ready",
    [LOCAL, same(CONTINENT)],
    "c1/n1/a:not-ready c2/n1/a c3/n1/a:serving",
    "c2/n1/a",
  ),
  selected(
    "selectors: other clusters first, and this one when no other has an endpoint",
    [NOT_HERE],
    "c1/n1/a c2/n1/a:not-ready",
    "c1/n1/a",
  ),
  selected(
    "selectors: a slice of unknown origin is in the remainder, whatever its labels",
    [same(CONTINENT)],
    [slice(KEY, "c1/n1/a", { cluster: null, properties: PROPERTIES.c1 }), ...located("c3/n1/a")],
    "c3/n1/a",
  ),
  selected(
    "selectors: internalTrafficPolicy Local uses this node only",
    [HAS_GPU, LOCAL],
    "c1/n1/a c1/n2/c c3/n1/a",
    "c1/n1/a",
    { internalTrafficPolicy: "Local" },
  ),
];
