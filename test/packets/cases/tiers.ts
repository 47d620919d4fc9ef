import type { NodeFact } from "../../../agent/model/facts.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { notReady, ready, serving, slice, terminating } from "../objects.ts";
import { at, type Expectation, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const SERVE = importObject(KEY, [VIPS.first], HTTP);
const LOCAL = [ready("c1/n1/a"), ready("c1/n2/c")];
const REGIONAL = [ready("c2/n1/a")];
const GLOBAL = [ready("c3/n1/a"), ready("c3/n1/b")];

const REGIONS_SWAPPED = new Map([
  ["c2", "us-east"],
  ["c3", "eu-west"],
]);

/** One import on one port; what the client pod's connections come to. */
function tier(
  name: string,
  slices: readonly object[],
  expect: Expectation,
  more: Parameters<typeof packetCase>[3] = {},
): PacketCase {
  return packetCase(name, [SERVE, ...slices], [flow(CLIENT, tcp(VIPS.first, 80), expect)], more);
}

/** Which cluster's endpoints take the traffic, by where they are and what condition they are in. */
export const TIER_CASES: readonly PacketCase[] = [
  tier(
    "local endpoints before regional and global ones, on any node",
    [slice(KEY, LOCAL), slice(KEY, REGIONAL), slice(KEY, GLOBAL)],
    [at("c1/n1/a"), at("c1/n2/c")],
  ),
  tier(
    "regional endpoints before global ones",
    [slice(KEY, REGIONAL), slice(KEY, GLOBAL)],
    [at("c2/n1/a")],
  ),
  tier(
    "global endpoints when there are no others",
    [slice(KEY, GLOBAL)],
    [at("c3/n1/a"), at("c3/n1/b")],
  ),
  tier("no endpoint anywhere: rejected", [], "refused"),
  tier(
    "an empty slice has no endpoint",
    [slice(KEY, [], { cluster: "c1" }), slice(KEY, REGIONAL)],
    [at("c2/n1/a")],
  ),
  tier(
    "several slices of one cluster are one set",
    [
      slice(KEY, [ready("c1/n1/a")], { name: "serve-1" }),
      slice(KEY, [ready("c1/n1/a"), ready("c1/n1/b")], { name: "serve-2" }),
    ],
    [at("c1/n1/a"), at("c1/n1/b")],
  ),
  tier(
    "unready local endpoints: regional ones",
    [slice(KEY, [notReady("c1/n1/a")]), slice(KEY, REGIONAL)],
    [at("c2/n1/a")],
  ),
  tier(
    "one ready endpoint of a tier is enough",
    [slice(KEY, [notReady("c1/n1/a"), ready("c1/n1/b")]), slice(KEY, REGIONAL)],
    [at("c1/n1/b")],
  ),
  tier(
    "only unready endpoints: rejected",
    [slice(KEY, [notReady("c1/n1/a")]), slice(KEY, [notReady("c2/n1/a")])],
    "refused",
  ),
  tier(
    "terminating endpoints after ready ones of any tier",
    [slice(KEY, [terminating("c1/n1/a")]), slice(KEY, GLOBAL)],
    [at("c3/n1/a"), at("c3/n1/b")],
  ),
  tier(
    "only terminating endpoints: the nearest of them",
    [slice(KEY, [terminating("c3/n1/a")]), slice(KEY, [terminating("c2/n1/a")])],
    [at("c2/n1/a")],
  ),
  tier(
    "serving endpoints of a stale cluster after ready ones of any tier",
    [slice(KEY, [serving("c2/n1/a")]), slice(KEY, GLOBAL)],
    [at("c3/n1/a"), at("c3/n1/b")],
  ),
  tier(
    "only stale clusters: the nearest of them",
    [slice(KEY, [serving("c2/n1/a"), serving("c2/n1/b")]), slice(KEY, [serving("c3/n1/a")])],
    [at("c2/n1/a"), at("c2/n1/b")],
  ),
  tier(
    "a slice of unknown origin is global, whatever its addresses and its region",
    [slice(KEY, [ready("c1/n1/a")], { cluster: null, region: "eu-west" }), slice(KEY, REGIONAL)],
    [at("c2/n1/a")],
  ),
  tier(
    "unknown origin is equal to other global ones",
    [slice(KEY, [ready("c2/n1/a")], { cluster: null }), slice(KEY, [ready("c3/n1/a")])],
    [at("c2/n1/a"), at("c3/n1/a")],
  ),
  tier(
    "a slice that is inactive is not used",
    [slice(KEY, LOCAL, { active: false }), slice(KEY, REGIONAL)],
    [at("c2/n1/a")],
  ),
  tier("nothing but inactive slices: refused", [slice(KEY, LOCAL, { active: false })], "refused"),
  tier(
    "a cluster without a region is global",
    [slice(KEY, REGIONAL, { region: null }), slice(KEY, [ready("c3/n1/a")])],
    [at("c2/n1/a"), at("c3/n1/a")],
  ),
  tier(
    "the operator's setting of regions overrides the slice's",
    [slice(KEY, REGIONAL), slice(KEY, [ready("c3/n1/a")])],
    [at("c3/n1/a")],
    { node: (home) => ({ ...home, clusterRegions: REGIONS_SWAPPED }) },
  ),
  tier(
    "a node without a cluster has no local tier, only a region",
    [slice(KEY, [ready("c1/n1/a")]), slice(KEY, REGIONAL), slice(KEY, GLOBAL)],
    [at("c1/n1/a"), at("c2/n1/a")],
    { node: withoutCluster },
  ),
  tier(
    "an address in slices of two clusters belongs to the nearer one",
    [slice(KEY, [ready("c1/n1/a")]), slice(KEY, [ready("c1/n1/a")], { cluster: "c3" })],
    [at("c1/n1/a")],
  ),
  tier(
    "a farther cluster's slice does not make an unready local address ready",
    [slice(KEY, [notReady("c1/n1/a")]), slice(KEY, [ready("c1/n1/a")], { cluster: "c3" })],
    "refused",
  ),
];

function withoutCluster(home: NodeFact): NodeFact {
  const node: Omit<NodeFact, "cluster"> & { cluster?: string } = { ...home };
  delete node.cluster;
  return node;
}
