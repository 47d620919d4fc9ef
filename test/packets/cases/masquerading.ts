import { MASQUERADES } from "../../../agent/backends/backend.ts";
import { importObject } from "../../generators/objects.ts";
import { CLIENT, HOME, VIPS } from "../address-plan.ts";
import { ready, slice } from "../objects.ts";
import { at, flow, masked, type PacketCase, packetCase, tcp } from "../packet-case.ts";

const KEY = "demo/serve";
const HTTP = [{ name: "http", port: 80, protocol: "TCP" }];
const A = ready("c1/n1/a");
const B = ready("c1/n1/b");
const SELF = "c1/n1/a";

const NEAR = importObject(KEY, [VIPS.first, VIPS.six], HTTP);
const FAR = importObject("demo/far", [VIPS.second], HTTP);
const EXPLICIT = importObject("demo/explicit", [VIPS.explicit], HTTP);
const OBJECTS = [
  NEAR,
  slice(KEY, [A, B]),
  slice(KEY, [A, B], { family: "IPv6" }),
  FAR,
  slice("demo/far", [ready("c2/n1/a")]),
  EXPLICIT,
  slice("demo/explicit", [A]),
];

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
        flow(CLIENT, tcp(VIPS.first, 80), near(podToNear)),
        flow(CLIENT, tcp(VIPS.six, 80), near(podToNear)),
        flow(CLIENT, tcp(VIPS.second, 80), [podToFar("c2/n1/a")]),
        flow(CLIENT, tcp(VIPS.explicit, 80), [podToNear("c1/n1/a")]),
        flow(HOME, tcp(VIPS.first, 80), near(hostToNear)),
        flow(HOME, tcp(VIPS.explicit, 80), [hostToNear("c1/n1/a")]),
        // A pod that connects to itself must not see its own address, in any mode.
        flow(SELF, tcp(VIPS.first, 80), [masked("c1/n1/a"), podToNear("c1/n1/b")]),
        flow(SELF, tcp(VIPS.six, 80), [masked("c1/n1/a"), podToNear("c1/n1/b")]),
        flow(SELF, tcp(VIPS.explicit, 80), [masked("c1/n1/a")]),
      ],
      { masquerade: mode },
    );
  }),
  packetCase(
    "a pod of unknown origin that connects to itself",
    [importObject(KEY, [VIPS.first], HTTP), slice(KEY, [A], { cluster: null })],
    [
      flow(SELF, tcp(VIPS.first, 80), [masked("c1/n1/a")]),
      flow(CLIENT, tcp(VIPS.first, 80), [at("c1/n1/a")]),
    ],
  ),
  packetCase(
    "many explicit VIPs are masqueraded like one",
    [
      importObject(
        KEY,
        [...Array(18).keys()].map((i) => `198.51.100.${i + 1}`),
        HTTP,
      ),
      slice(KEY, [A]),
    ],
    [
      flow(SELF, tcp("198.51.100.7", 80), [masked("c1/n1/a")]),
      flow(CLIENT, tcp("198.51.100.7", 80), [at("c1/n1/a")]),
      flow(HOME, tcp("198.51.100.18", 80), [masked("c1/n1/a")]),
    ],
    { masquerade: "off-cluster" },
  ),
];
