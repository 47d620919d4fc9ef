import { MASQUERADES } from "../../../agent/backends/backend.ts";
import { FAMILIES } from "../../../api/address.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, HOME, VIPS } from "../address-plan.ts";
import { type SliceOptions, slice } from "../objects.ts";
import { at, flow, flows, http, masked, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const SELF = "c1/n1/a";

const ALL = http(VIPS.first, VIPS.six, VIPS.explicit);

const NEAR = importObject(KEY, [VIPS.first, VIPS.six], HTTP);
const FAR = importObject("demo/far", [VIPS.second], HTTP);
const EXPLICIT = importObject("demo/explicit", [VIPS.explicit], HTTP);
const OBJECTS = [
  NEAR,
  slice(KEY, "c1/n1/a c1/n1/b"),
  slice(KEY, "c1/n1/a c1/n1/b", { family: "IPv6" }),
  FAR,
  slice("demo/far", "c2/n1/a"),
  EXPLICIT,
  slice("demo/explicit", "c1/n1/a"),
];

/** Slices that say something else about where a pod of this node runs. */
const PLACES: Readonly<Record<string, SliceOptions>> = {
  "as it is": {},
  "with another node's name": { node: "n2" },
  "without a node": { node: null },
  "by hand, without a cluster": { cluster: null, node: null },
  "as another cluster's": { cluster: "c2" },
};

/** What each mode does with connections that start and end in and outside of this cluster's pods. */
const MODES = {
  none: { podToFar: at, hostToNear: at, podToNear: at },
  "off-cluster": { podToFar: at, hostToNear: masked, podToNear: at },
  remote: { podToFar: masked, hostToNear: at, podToNear: at },
  all: { podToFar: masked, hostToNear: masked, podToNear: masked },
} as const;

/** Whose address the server sees. */
export const MASQUERADE_CASES: readonly PacketCase[] = [
  ...MASQUERADES.map((mode) => {
    const { podToFar, hostToNear, podToNear } = MODES[mode];
    const near = (as: typeof at) => [as("c1/n1/a"), as("c1/n1/b")];
    return packetCase(
      `masquerade ${mode}`,
      OBJECTS,
      [
        flows(CLIENT, http(VIPS.first, VIPS.six), near(podToNear)),
        flow(CLIENT, tcp(VIPS.second, 80), [podToFar("c2/n1/a")]),
        flow(CLIENT, tcp(VIPS.explicit, 80), [podToNear("c1/n1/a")]),
        flow(HOME, tcp(VIPS.first, 80), near(hostToNear)),
        flow(HOME, tcp(VIPS.explicit, 80), [hostToNear("c1/n1/a")]),
        // A pod that connects to itself must not see its own address, in any mode.
        flows(SELF, http(VIPS.first, VIPS.six), [masked("c1/n1/a"), podToNear("c1/n1/b")]),
        flow(SELF, tcp(VIPS.explicit, 80), [masked("c1/n1/a")]),
      ],
      { masquerade: mode },
    );
  }),
  ...Object.entries(PLACES).map(([place, options]) =>
    packetCase(
      `a pod that connects to itself, on a node without pod ranges, listed ${place}`,
      [
        NEAR,
        ...FAMILIES.map((family) => slice(KEY, "c1/n1/a", { ...options, family })),
        EXPLICIT,
        slice("demo/explicit", "c1/n1/a", options),
      ],
      [
        flows(SELF, ALL, [masked("c1/n1/a")]),
        // The address of c1/n1/b differs in the last bits only.
        flows([CLIENT, "c1/n1/b"], ALL, "c1/n1/a"),
      ],
      { node: (home) => ({ ...home, podCidrs: [], nodePodCidrs: [] }) },
    ),
  ),
  packetCase(
    "many explicit VIPs are masqueraded like one",
    [
      importObject(
        KEY,
        [...Array(18).keys()].map((i) => `198.51.100.${i + 1}`),
        HTTP,
      ),
      slice(KEY, "c1/n1/a"),
    ],
    [
      flow(SELF, tcp("198.51.100.7", 80), [masked("c1/n1/a")]),
      flow(CLIENT, tcp("198.51.100.7", 80), "c1/n1/a"),
      flow(HOME, tcp("198.51.100.18", 80), [masked("c1/n1/a")]),
    ],
    { masquerade: "off-cluster" },
  ),
];
