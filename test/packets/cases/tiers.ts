import { importObject } from "../../generators/objects.ts";
import { CLIENT, VIPS } from "../address-plan.ts";
import { slice, slices } from "../objects.ts";
import { type Expected, flow, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const SERVE = importObject(KEY, [VIPS.first], HTTP);

/** One import on one port, with these endpoints or slices; what the client pod's connections come to. */
function tier(name: string, endpoints: string | readonly object[], expected: Expected): PacketCase {
  const of = typeof endpoints === "string" ? slices(KEY, endpoints) : endpoints;
  return packetCase(name, [SERVE, ...of], [flow(CLIENT, tcp(VIPS.first, 80), expected)]);
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
  tier("unready local endpoints: regional ones", "c1/n1/a:not-ready c2/n1/a", "c2/n1/a"),
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
    "a slice of unknown origin is global, whatever its addresses and its region",
    [slice(KEY, "c1/n1/a", { cluster: null, region: "eu-west" }), slice(KEY, "c2/n1/a")],
    "c2/n1/a",
  ),
  tier(
    "a slice that is inactive is not used",
    [slice(KEY, "c1/n1/a c1/n2/c", { active: false }), slice(KEY, "c2/n1/a")],
    "c2/n1/a",
  ),
];
