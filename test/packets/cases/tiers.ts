import type { NodeFact } from "../../../agent/model/facts.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { slice, slices } from "../objects.ts";
import { type Expected, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const SERVE = importObject(KEY, [VIPS.first], HTTP);

const REGIONS_SWAPPED = new Map([
  ["c2", "us-east"],
  ["c3", "eu-west"],
]);

/** One import on one port, with these endpoints or slices; what the client pod's connections come to. */
function tier(
  name: string,
  endpoints: string | readonly object[],
  expected: Expected,
  more: Parameters<typeof packetCase>[3] = {},
): PacketCase {
  const of = typeof endpoints === "string" ? slices(KEY, endpoints) : endpoints;
  return packetCase(name, [SERVE, ...of], [flow(CLIENT, tcp(VIPS.first, 80), expected)], more);
}

/** Which cluster's endpoints take the traffic, by where they are and what condition they are in. */
export const TIER_CASES: readonly PacketCase[] = [
  tier(
    "local endpoints before regional and global ones, on any node",
    "c1/n1/a c1/n2/c c2/n1/a c3/n1/a c3/n1/b",
    "c1/n1/a c1/n2/c",
  ),
  tier("regional endpoints before global ones", "c2/n1/a c3/n1/a c3/n1/b", "c2/n1/a"),
  tier("global endpoints when there are no others", "c3/n1/a c3/n1/b", "c3/n1/a c3/n1/b"),
  tier("no endpoint anywhere: rejected", [], "refused"),
  tier(
    "an empty slice has no endpoint",
    [slice(KEY, "", { cluster: "c1" }), slice(KEY, "c2/n1/a")],
    "c2/n1/a",
  ),
  tier(
    "several slices of one cluster are one set",
    [
      slice(KEY, "c1/n1/a", { name: "serve-1" }),
      slice(KEY, "c1/n1/a c1/n1/b", { name: "serve-2" }),
    ],
    "c1/n1/a c1/n1/b",
  ),
  tier("unready local endpoints: regional ones", "c1/n1/a:not-ready c2/n1/a", "c2/n1/a"),
  tier("one ready endpoint of a tier is enough", "c1/n1/a:not-ready c1/n1/b c2/n1/a", "c1/n1/b"),
  tier("only unready endpoints: rejected", "c1/n1/a:not-ready c2/n1/a:not-ready", "refused"),
  tier(
    "terminating endpoints after ready ones of any tier",
    "c1/n1/a:terminating c3/n1/a c3/n1/b",
    "c3/n1/a c3/n1/b",
  ),
  tier(
    "only terminating endpoints: the nearest of them",
    "c3/n1/a:terminating c2/n1/a:terminating",
    "c2/n1/a",
  ),
  tier(
    "serving endpoints of a stale cluster after ready ones of any tier",
    "c2/n1/a:serving c3/n1/a c3/n1/b",
    "c3/n1/a c3/n1/b",
  ),
  tier(
    "only stale clusters: the nearest of them",
    "c2/n1/a:serving c2/n1/b:serving c3/n1/a:serving",
    "c2/n1/a c2/n1/b",
  ),
  tier(
    "a slice of unknown origin is global, whatever its addresses and its region",
    [slice(KEY, "c1/n1/a", { cluster: null, region: "eu-west" }), slice(KEY, "c2/n1/a")],
    "c2/n1/a",
  ),
  tier(
    "unknown origin is equal to other global ones",
    [slice(KEY, "c2/n1/a", { cluster: null }), slice(KEY, "c3/n1/a")],
    "c2/n1/a c3/n1/a",
  ),
  tier(
    "a slice that is inactive is not used",
    [slice(KEY, "c1/n1/a c1/n2/c", { active: false }), slice(KEY, "c2/n1/a")],
    "c2/n1/a",
  ),
  tier(
    "nothing but inactive slices: refused",
    [slice(KEY, "c1/n1/a c1/n2/c", { active: false })],
    "refused",
  ),
  tier(
    "a cluster without a region is global",
    [slice(KEY, "c2/n1/a", { region: null }), slice(KEY, "c3/n1/a")],
    "c2/n1/a c3/n1/a",
  ),
  tier("the operator's setting of regions overrides the slice's", "c2/n1/a c3/n1/a", "c3/n1/a", {
    node: (home) => ({ ...home, clusterRegions: REGIONS_SWAPPED }),
  }),
  tier(
    "a node without a cluster has no local tier, only a region",
    "c1/n1/a c2/n1/a c3/n1/a c3/n1/b",
    "c1/n1/a c2/n1/a",
    { node: withoutCluster },
  ),
  tier(
    "an address in slices of two clusters belongs to the nearer one",
    [slice(KEY, "c1/n1/a"), slice(KEY, "c1/n1/a", { cluster: "c3" })],
    "c1/n1/a",
  ),
  tier(
    "a farther cluster's slice does not make an unready local address ready",
    [slice(KEY, "c1/n1/a:not-ready"), slice(KEY, "c1/n1/a", { cluster: "c3" })],
    "refused",
  ),
];

function withoutCluster(home: NodeFact): NodeFact {
  const node: Omit<NodeFact, "cluster"> & { cluster?: string } = { ...home };
  delete node.cluster;
  return node;
}
