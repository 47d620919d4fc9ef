import {
  ANNOTATION_SHIFT,
  LABEL_ACTIVE,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";
import { brief, casesOf, NOT_ADDRESSES, NOT_NAMES, type ParserCase } from "./hostile-imports.ts";

type Problems = ParserCase["problems"];

/** A valid slice demo/serve-c2, with these changes. */
export function endpointSlice(
  fields: Fields = {},
  labels: Fields = {},
  metadata: Fields = {},
): Fields {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "demo",
      name: "serve-c2",
      labels: {
        [LABEL_SERVICE_NAME]: "serve",
        [LABEL_SOURCE_CLUSTER]: "c2",
        [LABEL_REGION]: "eu-west",
        ...labels,
      },
      ...metadata,
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: ["10.2.0.1"] }],
    ...fields,
  };
}

const fields = casesOf("a slice with", endpointSlice);
const labels = casesOf("a slice with labels", (change) => endpointSlice({}, change));
const metadata = casesOf("a slice with metadata", (change) => endpointSlice({}, {}, change));

const NOT_LABELS: readonly unknown[] = ["", 5, "__proto__", "a\nb", "c2\n", "x".repeat(64)];

/** Values that a label must not have; `fact`: what then holds. */
function badLabels(label: string, values: readonly unknown[], fact: Fields | undefined) {
  const problem = `invalid-label metadata.labels[${label}]` as const;
  return values.map((value) => labels({ [label]: value }, fact, problem));
}

/** Names in a field of the metadata that are none. */
function badNames(field: string, names: readonly unknown[]) {
  return names.map((name) =>
    metadata({ [field]: name }, undefined, `invalid-name metadata.${field}`),
  );
}

/** The annotation of a shift, and what it adds to the fact. */
function shift(text: string, fact: Fields, ...problems: Problems): ParserCase {
  return metadata({ annotations: { [ANNOTATION_SHIFT]: text } }, fact, ...problems);
}

/** Ports, and those that are read of them. */
function ports(raw: unknown, ports: readonly Fields[], ...problems: Problems): ParserCase {
  return fields({ ports: raw }, { ports }, ...problems);
}

const GOOD = { address: "10.2.0.9", condition: "ready" } as const;

const PORT_A = { name: "a", protocol: "TCP", port: 80 } as const;
const PORT_B = { ...PORT_A, name: "b" } as const;
const PORT_81 = { name: "", protocol: "TCP", port: 81 } as const;
const PORTS = Array.from({ length: 101 }, (_, i) => ({ ...PORT_A, name: `p${i}` }));
const PLACE = { nodeName: "n1.example", zone: "eu-west-a" } as const;
const READ = { address: "10.2.0.1", condition: "ready" } as const;

/** One endpoint between two that are good and must stay; `read` is what becomes of it, if anything does. */
function endpoint(raw: unknown, read: Fields | undefined, ...problems: Problems): ParserCase {
  const neighbour = { addresses: ["10.2.0.9"] };
  return {
    name: `an endpoint ${brief(raw)}`,
    object: endpointSlice({ endpoints: [neighbour, raw, neighbour] }),
    fact: { endpoints: [GOOD, ...(read === undefined ? [] : [read]), GOOD] },
    problems,
  };
}

function addressed(addresses: unknown, reason: Reason): ParserCase {
  return endpoint({ addresses }, undefined, `${reason} endpoints[1].addresses[0]`);
}

/** An endpoint with one field that is not read, while the rest is. */
function unread(field: string, reason: Reason, values: readonly unknown[]): ParserCase[] {
  return values.map((value) =>
    endpoint({ addresses: ["10.2.0.1"], [field]: value }, READ, `${reason} endpoints[1].${field}`),
  );
}

function condition(conditions: unknown, condition: string): ParserCase {
  return endpoint({ addresses: ["10.2.0.1"], conditions }, { address: "10.2.0.1", condition });
}

function sixth(addresses: unknown, reason: Reason): ParserCase {
  return {
    name: `an IPv6 endpoint ${brief(addresses)}`,
    object: endpointSlice({ addressType: "IPv6", endpoints: [{ addresses }] }),
    fact: { family: "IPv6", endpoints: [] },
    problems: [`${reason} endpoints[0].addresses[0]`],
  };
}

const ADDRESSES = Array.from({ length: 1001 }, (_, i) => `10.2.${i >> 8}.${i & 255}`);
const MANY = ADDRESSES.map((address) => ({ addresses: [address] }));
const MANY_READ = ADDRESSES.slice(0, 1000).map((address) => ({ address, condition: "ready" }));

/** Everything that an EndpointSlice may say, and what becomes of it where 241.0.0.0/8 is the ClusterSet CIDR. */
export const SLICE_CASES: readonly ParserCase[] = [
  { name: "a plain slice", object: endpointSlice(), fact: {}, problems: [] },

  ...["true", "from=2026-11-24T04:00:00Z; for=365d; direction=draining"].map((text) =>
    shift(text, {}, `invalid-shift metadata.annotations[${ANNOTATION_SHIFT}]`),
  ),
  shift("from=2026-11-24T04:00:00Z; for=30s; direction=returning", {
    shift: { direction: "returning", from: Date.UTC(2026, 10, 24, 4), length: 30_000 },
  }),

  // Not ours: neither fact nor problem, however broken.
  ...[undefined, null].map((none) => labels({ [LABEL_SERVICE_NAME]: none }, undefined)),
  ...[undefined, null, [], "x", 5, {}, { metadata: null }].map((broken) => ({
    name: `an object that is ${brief(broken)}`,
    object: broken,
    fact: undefined,
    problems: [],
  })),
  // In its prototype it is no label.
  metadata({ labels: Object.create({ [LABEL_SERVICE_NAME]: "serve" }) }, undefined),

  ...badNames("name", NOT_NAMES),
  ...badNames("namespace", [...NOT_NAMES, "a.b"]),
  metadata({ name: "serve.c2" }, { key: "demo/serve.c2" }),
  ...badLabels(LABEL_SERVICE_NAME, [...NOT_LABELS, "Serve", "a.b", ["serve"]], undefined),
  labels({ [LABEL_SERVICE_NAME]: "other" }, { importKey: "demo/other" }),

  labels({ [LABEL_SOURCE_CLUSTER]: undefined }, { cluster: undefined }),
  labels({ [LABEL_SOURCE_CLUSTER]: "eu.c2" }, { cluster: "eu.c2" }),
  ...badLabels(LABEL_SOURCE_CLUSTER, [...NOT_LABELS, "C2", "a.b.c", 'c2"'], { cluster: undefined }),
  labels({ [LABEL_REGION]: undefined }, { region: undefined }),
  labels({ [LABEL_REGION]: "EU_West.1" }, { region: "EU_West.1" }),
  ...badLabels(LABEL_REGION, [...NOT_LABELS, "eu west"], { region: undefined }),
  labels({ [LABEL_ACTIVE]: "false" }, { active: false }),
  labels({ [LABEL_ACTIVE]: "true" }, {}),
  ...badLabels(LABEL_ACTIVE, [false, "False", "no", ""], {}),

  fields({ addressType: "FQDN" }, undefined, "fqdn-slice addressType"),
  ...[undefined, null, "ipv4", "IPv5", 4].map((addressType) =>
    fields({ addressType }, undefined, "invalid-object addressType"),
  ),

  ports(undefined, []),
  ports("http", [], "invalid-object ports"),
  ...[0, 65536, 80.5, "80", null].map((port) =>
    ports([{ name: "x", port }, { port: 81 }], [PORT_81], "invalid-port ports[0].port"),
  ),
  ports([{ name: "x\n-A", port: 80 }, { port: 81 }], [PORT_81], "invalid-name ports[0].name"),
  ports([{ ...PORT_A, protocol: "ICMP" }], [], "invalid-protocol ports[0].protocol"),
  ports([PORT_A, { ...PORT_A, port: 81 }], [PORT_A], "duplicate-port ports[1]"),
  // Two Service ports may lead to the same target port.
  ports([PORT_A, PORT_B], [PORT_A, PORT_B]),
  ports(PORTS, PORTS.slice(0, 100), "too-many-ports ports"),

  ...[undefined, null].map((endpoints) => fields({ endpoints }, { endpoints: [] })),
  fields({ endpoints: {} }, { endpoints: [] }, "invalid-object endpoints"),
  fields({ endpoints: MANY.slice(0, 1000) }, { endpoints: MANY_READ }),
  fields({ endpoints: MANY }, { endpoints: MANY_READ }, "too-many-endpoints endpoints"),
  // The plan reports addresses that are listed twice, with their slices.
  endpoint({ addresses: ["10.2.0.9"] }, GOOD),

  ...NOT_ADDRESSES.map(([text, reason]) => addressed([text], reason)),
  ...[undefined, [], "10.2.0.1"].map((none) => addressed(none, "invalid-address")),
  ...[null, 5, "10.2.0.1", ["10.2.0.1"]].map((raw) =>
    endpoint(raw, undefined, "invalid-address endpoints[1].addresses[0]"),
  ),
  endpoint({ addresses: ["10.2.0.1", "10.2.0.2"] }, READ),
  addressed(["fd00::1"], "wrong-family"),
  ...["127.0.0.1", "127.255.0.1"].map((text) => addressed([text], "loopback-address")),
  addressed(["169.254.169.254"], "link-local-address"),
  ...["224.0.0.1", "255.255.255.255"].map((text) => addressed([text], "multicast-address")),
  ...["0.0.0.0", "0.0.0.1"].map((text) => addressed([text], "unspecified-address")),
  addressed(["241.0.0.10"], "in-clusterset-cidr"),
  sixth(["10.2.0.1"], "wrong-family"),
  sixth(["::1"], "loopback-address"),
  sixth(["fe80::1"], "link-local-address"),
  sixth(["ff02::1"], "multicast-address"),
  sixth(["::"], "unspecified-address"),
  sixth(["fd00:241::7"], "in-clusterset-cidr"),
  sixth(["::ffff:10.2.0.1"], "mapped-address"),
  sixth(["fe80::1%eth0"], "zoned-address"),
  {
    name: "an IPv6 endpoint in any spelling",
    object: endpointSlice({ addressType: "IPv6", endpoints: [{ addresses: ["FD10:2:0::0001"] }] }),
    fact: { family: "IPv6", endpoints: [{ address: "fd10:2::1", condition: "ready" }] },
    problems: [],
  },

  condition(undefined, "ready"),
  condition(null, "ready"),
  condition({}, "ready"),
  condition({ ready: null, serving: null, terminating: null }, "ready"),
  condition({ ready: true, serving: false, terminating: true }, "ready"),
  condition({ ready: false }, "not-ready"),
  condition({ ready: false, serving: true }, "serving"),
  condition({ ready: false, serving: true, terminating: true }, "terminating"),
  condition({ ready: false, serving: false, terminating: true }, "not-ready"),
  condition({ ready: false, terminating: true }, "not-ready"),
  ...["ready", "serving", "terminating"].map((name) =>
    endpoint(
      { addresses: ["10.2.0.1"], conditions: { [name]: "false" } },
      undefined,
      `invalid-object endpoints[1].conditions.${name}`,
    ),
  ),
  endpoint({ addresses: ["10.2.0.1"], ...PLACE }, { ...READ, ...PLACE }),
  ...unread("nodeName", "invalid-name", ["N1", "__proto__", "n1\n", 5]),
  ...unread("zone", "invalid-label", ["eu west", "__proto__", "a\n", 5]),
  endpoint({ addresses: ["10.2.0.1"], nodeName: "", zone: null }, READ),
];
