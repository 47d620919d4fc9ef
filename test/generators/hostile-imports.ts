import type { Fields } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";

/** An object, the resulting fact, and its problems. */
export interface ParserCase {
  readonly name: string;
  readonly object: unknown;
  /** What is different from the fact of the plain object; undefined if there is no fact. */
  readonly fact: Fields | undefined;
  /** `reason field` of each problem, in order. */
  readonly problems: readonly `${Reason} ${string}`[];
}

/** A ServiceImport demo/serve that nothing is wrong with, but for what `spec` and `metadata` say otherwise. */
export function serviceImport(spec: Fields = {}, metadata: Fields = {}): Fields {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "demo", name: "serve", ...metadata },
    spec: {
      type: "ClusterSetIP",
      ips: ["241.0.0.10"],
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
      ...spec,
    },
  };
}

const PREVIOUS = "clusterset-proxy.io/previous-ips";
const UDP = "clusterset-proxy.io/udp";
const ON_DEATH = "clusterset-proxy.io/on-endpoint-death";
const HEALTH = "clusterset-proxy.io/health";
const UNSELECTED = "clusterset-proxy.io/unselected-clusters";
const SELECTORS = "clusterset-proxy.io/cluster-selectors";
const WEIGHTS = "clusterset-proxy.io/cluster-weights";
const MIN_READY = "clusterset-proxy.io/min-ready";
const SCHEDULER = "clusterset-proxy.io/ipvs-scheduler";
const GOOD = { name: "good", protocol: "TCP", port: 81 } as const;
const GOOD_UDP = { name: "udp", protocol: "UDP", port: 81 } as const;

/** Makes cases of a kind of object: of what is changed, the fact, and the problems. */
export function casesOf(kind: string, build: (change: Fields) => unknown) {
  return (
    change: Fields,
    fact: Fields | undefined,
    ...problems: ParserCase["problems"]
  ): ParserCase => ({ name: `${kind} ${brief(change)}`, object: build(change), fact, problems });
}

const spec = casesOf("spec", serviceImport);
const metadata = casesOf("metadata", (change) => serviceImport({}, change));

/** Values that a field of the spec must not have; `fact`: what then holds. */
function bad(field: string, reason: Reason, values: readonly unknown[], fact: Fields = {}) {
  return values.map((value) => spec({ [field]: value }, fact, `${reason} spec.${field}`));
}

/** Values that a field of the metadata must not have; `fact`: what then holds. */
function badMetadata(field: string, reason: Reason, values: readonly unknown[], fact?: Fields) {
  return values.map((value) => metadata({ [field]: value }, fact, `${reason} metadata.${field}`));
}

/** An annotation with a value, and what it adds to the fact. */
function annotation(name: string, value: unknown, fact: Fields) {
  return metadata({ annotations: { [name]: value } }, fact);
}

const COMMAS = ",".repeat(100_000);

/** The time of creation, and what it adds to the fact. */
function createdAt(creationTimestamp: unknown, fact: Fields) {
  return metadata({ creationTimestamp }, fact);
}

/** Values that an annotation must not have; `fact`: what then holds. */
function badValues(name: string, values: readonly unknown[], fact: Fields = {}) {
  const problem = `invalid-policy metadata.annotations[${name}]` as const;
  return values.map((value) => metadata({ annotations: { [name]: value } }, fact, problem));
}

/** Ports, and those that are read of them. */
function ports(raw: unknown, ports: readonly Fields[], ...problems: ParserCase["problems"]) {
  return spec({ ports: raw }, { ports }, ...problems);
}

/** Ports, each of which is wrong in `field`, before one that is good and must stay. */
function badPorts(field: string, reason: Reason, wrong: readonly unknown[]) {
  return wrong.map((one) => ports([one, GOOD], [GOOD], `${reason} spec.ports[0].${field}`));
}

/** One VIP that is wrong, before one that is good and must stay. */
function vip(text: unknown, reason: Reason) {
  return spec({ ips: [text, "241.0.0.9"] }, { vips: ["241.0.0.9"] }, `${reason} spec.ips[0]`);
}

/** Previous VIPs, beside the one of the spec. */
function previous(
  text: unknown,
  previousVips: readonly string[],
  ...reasons: readonly (readonly [Reason, index?: number])[]
) {
  const vips = { vips: ["241.0.0.10", ...previousVips], previousVips };
  const field = `metadata.annotations[${PREVIOUS}]`;
  const problems = reasons.map(
    ([reason, i]) => `${reason} ${field}${i === undefined ? "" : `[${i}]`}` as const,
  );
  const fact = previousVips.length === 0 ? {} : vips;
  return metadata({ annotations: { [PREVIOUS]: text } }, fact, ...problems);
}

/** IPs, and the VIPs that are read of them. */
function ips(raw: unknown, vips: readonly string[], ...problems: ParserCase["problems"]) {
  return spec({ ips: raw }, { vips }, ...problems);
}

/** The affinity of a client for so long, and for how long it holds. */
function affinity(timeoutSeconds: unknown, read: number, ...problems: ParserCase["problems"]) {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds } };
  const change = { sessionAffinity: "ClientIP", sessionAffinityConfig };
  return spec(change, { affinitySeconds: read }, ...problems);
}

const PORTS = Array.from({ length: 1001 }, (_, i) => ({
  ...GOOD,
  name: `p${i}`,
  port: i + 1,
}));
const VIPS = Array.from({ length: 65 }, (_, i) => `241.0.0.${i}`);

/** A value as the name of a test. */
export function brief(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").slice(0, 90);
}

const NOT_TIMES: readonly unknown[] = [
  ...["1", "yesterday", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", 5, {}],
];

/** Names that are none, or not of the kind that a ServiceImport or a namespace has. */
export const NOT_NAMES: readonly unknown[] = [
  ...[undefined, null, "", 5, ["serve"], {}, "__proto__", "Serve", "a_b", "-a", "x".repeat(254)],
  ...["a\nCOMMIT\n-A INPUT -j ACCEPT", 'a" -j ACCEPT', "a\0", "a\u202e", "../etc"],
];

/** Addresses that are none, each with the reason word. */
export const NOT_ADDRESSES: readonly (readonly [unknown, Reason])[] = [
  ...[
    ...[undefined, null, 167772161, ["10.0.0.1"], "", "010.0.0.1", "0x0a.0.0.1", "10.1"],
    ...["167772161", " 10.0.0.1", "10.0.0.1\n-A INPUT -j ACCEPT", "10.0.0.1:80", "10.0.0.0/8"],
    ...["serve.demo.svc", "__proto__"],
  ].map((text) => [text, "invalid-address"] as const),
  ["::ffff:10.0.0.1", "mapped-address"],
  ["::10.0.0.1", "mapped-address"],
  ["fe80::1%eth0", "zoned-address"],
];

/** Everything that a ServiceImport may say, and what becomes of it. */
export const IMPORT_CASES: readonly ParserCase[] = [
  { name: "a plain import", object: serviceImport(), fact: {}, problems: [] },
  spec({ type: "Headless" }, { headless: true }),
  ...[undefined, "ExternalName"].map((type) =>
    spec({ type }, undefined, "invalid-object spec.type"),
  ),
  ...[undefined, null, [], "x", 5].map((broken) => ({
    name: `an import whose spec is ${brief(broken)}`,
    object: { ...serviceImport(), spec: broken },
    fact: undefined,
    problems: ["invalid-object spec.type"] as const,
  })),
  ...[undefined, null, [], "x", 5, true].map((broken) => ({
    name: `an object that is ${brief(broken)}`,
    object: broken,
    fact: undefined,
    problems: ["invalid-name metadata.namespace", "invalid-name metadata.name"] as const,
  })),
  ...badMetadata("name", "invalid-name", [...NOT_NAMES, "a.b"]),
  ...badMetadata("namespace", "invalid-name", NOT_NAMES),
  metadata({ name: "constructor" }, { key: "demo/constructor" }),

  createdAt("2026-01-02T03:04:05Z", { created: Date.UTC(2026, 0, 2, 3, 4, 5) }),
  createdAt("2026-01-02T03:04:05.5+01:00", { created: Date.UTC(2026, 0, 2, 2, 4, 5, 500) }),
  createdAt(null, {}),

  previous("242.0.0.10", ["242.0.0.10"]),
  previous("242.0.0.10,fd00::9", ["242.0.0.10", "fd00::9"]),
  previous("242.0.0.10,241.0.0.10", ["242.0.0.10"]),
  previous("241.0.0.10", []),
  previous(null, []),
  previous("", [], ["invalid-address", 0]),
  previous("010.0.0.1,242.0.0.10", ["242.0.0.10"], ["invalid-address", 0]),
  previous("242.0.0.1,242.0.0.2,242.0.0.3", ["242.0.0.1", "242.0.0.2"], ["too-many-vips"]),
  previous(COMMAS, [], ["too-many-vips"], ["invalid-address", 0], ["invalid-address", 1]),
  previous(5, [], ["invalid-object"]),
  annotation(ON_DEATH, "reset", { onEndpointDeath: "reset" }),
  annotation(ON_DEATH, "keep", {}),
  annotation(ON_DEATH, null, {}),
  annotation(UDP, "follow", { udp: "follow" }),
  annotation(UDP, "keep", {}),
  ...badValues(UDP, ["Follow"]),
  metadata({ annotations: null }, {}),
  ...badValues(ON_DEATH, ["", "Reset", "reset ", true, 5, {}, ["reset"]]),
  annotation(SCHEDULER, "mh", { scheduler: "mh" }),
  annotation(SCHEDULER, null, {}),
  ...badValues(SCHEDULER, ["", "RR", "rr ", "fo", "rr\0", true, 5, {}, ["rr"]]),
  annotation(HEALTH, "off", { health: "off" }),
  annotation(HEALTH, "all", { health: "all" }),
  annotation(HEALTH, null, {}),
  ...badValues(HEALTH, ["", "on", "Off", "remote ", false, {}, ["all"]]),
  annotation(UNSELECTED, "never", { onlySelected: true }),
  annotation(UNSELECTED, "last", {}),
  annotation(UNSELECTED, null, {}),
  // A typo must not open the wall.
  ...badValues(UNSELECTED, ["", "Never", "never ", "nevr", false, 0, {}, ["never"]], {
    onlySelected: true,
  }),
  // Nor must a list that nobody can read.
  ...(
    [
      ["[{}]", "[0]"],
      ["[", ""],
    ] as const
  ).map(([list, place]) =>
    metadata(
      { annotations: { [UNSELECTED]: "never", [SELECTORS]: list } },
      { onlySelected: true, selectors: [] },
      `invalid-selector metadata.annotations[${SELECTORS}]${place}`,
    ),
  ),
  annotation(WEIGHTS, "old=90,new=10", { clusterWeights: { old: 9, new: 1 } }),
  annotation(WEIGHTS, " a.b=0 , c=7", { clusterWeights: { c: 1 } }),
  annotation(WEIGHTS, "c=1000", { clusterWeights: { c: 1 } }),
  annotation(WEIGHTS, null, {}),
  ...badValues(WEIGHTS, [
    ...["", "a", "a=", "=1", "a=-1", "a=1.5", "a=01", "a=1e2", "a=1,", "a=1,,b=1", "a=1;b=1"],
    ...["a=1,a=1", "a=0", "a=0,b=0", "a=1001", "a=500,b=501", "A=1", "a b=1", "a.b.c=1"],
    ...["__proto__=1", "a=1\nb=1", `${"x".repeat(64)}=1`, "a=0,".repeat(20_000), 5, {}, ["a=1"]],
    Array.from({ length: 1001 }, (_, i) => `c${i}=0`).join(","),
  ]),
  annotation(MIN_READY, "3", { minReady: { endpoints: 3 } }),
  annotation(MIN_READY, "100000", { minReady: { endpoints: 100_000 } }),
  annotation(MIN_READY, "30%", { minReady: { percent: 30 } }),
  annotation(MIN_READY, null, {}),
  ...badValues(MIN_READY, [
    ...["", "0", "0%", "-1", "101%", "100001", "1.5", "3 ", "%", "3%%", "three", 3, {}, ["3"]],
  ]),
  ...badMetadata("creationTimestamp", "invalid-object", NOT_TIMES, {}),

  ...[undefined, null, []].map((none) => ips(none, [])),
  ...bad("ips", "invalid-object", ["241.0.0.1", { 0: "241.0.0.1" }], { vips: [] }),
  ips(["241.0.0.1", "FD00:241:0::1"], ["241.0.0.1", "fd00:241::1"]),
  ips(["fd00::1", "FD00::0001", "fd00:0::1"], ["fd00::1"]),
  // Whether a node may use a VIP is for the plan to say.
  ips(["127.0.0.1", "10.96.0.1"], ["127.0.0.1", "10.96.0.1"]),
  ...NOT_ADDRESSES.map(([text, reason]) => vip(text, reason)),

  spec({ ipFamilies: ["IPv4"] }, {}),
  spec({ ipFamilies: [] }, {}),
  spec({ ipFamilies: ["IPv4"], ips: ["fd00::1", "241.0.0.10"] }, {}, "wrong-family spec.ips[0]"),
  spec({ ipFamilies: ["IPv6"] }, { vips: [] }, "wrong-family spec.ips[0]"),
  spec({ ipFamilies: ["IPv5", "IPv4"] }, {}, "invalid-object spec.ipFamilies[0]"),
  ...bad("ipFamilies", "invalid-object", ["IPv4"]),

  ports(undefined, []),
  ...bad("ports", "invalid-object", [{ port: 80 }], { ports: [] }),
  ports([{ port: 80 }], [{ name: "", protocol: "TCP", port: 80 }]),
  ports([{ port: 80, name: null, protocol: null }], [{ name: "", protocol: "TCP", port: 80 }]),
  ...badPorts("port", "invalid-port", [
    ...[0, -1, 65536, 1.5, 1e9, "80", "http", null, undefined, [80], true].map((port) => ({
      port,
    })),
    ...[null, "80", [], 5],
  ]),
  ...["tcp", "ICMP", "", 6, "TCP\n", "__proto__"].flatMap((protocol) =>
    badPorts("protocol", "invalid-protocol", [{ port: 80, protocol }]),
  ),
  ...["__proto__", "HTTP", "a.b", "a\nb", 'a"', 5, [], "x".repeat(64)].flatMap((name) =>
    badPorts("name", "invalid-name", [{ port: 80, name }]),
  ),
  ports([GOOD, { name: "good", port: 82 }], [GOOD], "duplicate-port spec.ports[1]"),
  ports([GOOD, { name: "other", port: 81 }], [GOOD], "duplicate-port spec.ports[1]"),
  ports([GOOD, GOOD_UDP], [GOOD, GOOD_UDP]),
  ports(PORTS, PORTS.slice(0, 1000), "too-many-ports spec.ports"),
  ips(VIPS, VIPS.slice(0, 64), "too-many-vips spec.ips"),

  ...["None", ""].map((sessionAffinity) => spec({ sessionAffinity }, {})),
  spec({ sessionAffinity: "ClientIP" }, { affinitySeconds: 10800 }),
  ...[1, 30, 86400].map((seconds) => affinity(seconds, seconds)),
  ...[0, -1, 86401, 1.5, "30", [30]].map((seconds) =>
    affinity(seconds, 10800, "invalid-policy spec.sessionAffinityConfig.clientIP.timeoutSeconds"),
  ),
  ...bad("sessionAffinity", "invalid-policy", ["clientip", "Cookie", 5, {}]),
  spec({ trafficDistribution: "PreferClose" }, { trafficDistribution: "PreferSameZone" }),
  ...["PreferSameZone", "PreferSameNode"].map((trafficDistribution) =>
    spec({ trafficDistribution }, { trafficDistribution }),
  ),
  ...bad("trafficDistribution", "invalid-policy", ["PreferFar", "preferclose", "", 5]),
  spec({ internalTrafficPolicy: "Cluster" }, {}),
  spec({ internalTrafficPolicy: "Local" }, { nodeLocal: true }),
  ...bad("internalTrafficPolicy", "invalid-policy", ["local", "", false]),
  // Unknown fields are not a problem.
  spec({ clusterSelector: 5, "": 1, constructor: 1, hasOwnProperty: 1 }, {}),
  {
    name: "an import that inherits what it should own",
    object: {
      metadata: { namespace: "demo", name: "serve" },
      spec: Object.create({ type: "ClusterSetIP" }),
    },
    fact: undefined,
    problems: ["invalid-object spec.type"],
  },
  {
    name: "an import with __proto__ as a field",
    object: JSON.parse(
      '{"metadata":{"namespace":"demo","name":"serve","__proto__":{"name":"evil"}},' +
        '"spec":{"__proto__":{"nodeLocal":true,"internalTrafficPolicy":"Local"},"type":"ClusterSetIP",' +
        '"ips":["241.0.0.10"],"ports":[{"name":"http","port":80,"__proto__":{"port":0}}]}}',
    ),
    fact: {},
    problems: [],
  },
];
