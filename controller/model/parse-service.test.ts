import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  LABEL_MANAGED_BY,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { cidr } from "../../test/generators/facts.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { parseNamespace } from "./parse-namespace.ts";
import { parseNode } from "./parse-node.ts";
import { parseServiceRanges } from "./parse-ranges.ts";
import { parseService } from "./parse-service.ts";
import { parseServiceSlice } from "./parse-service-slice.ts";

function service(spec: Fields, metadata: Fields = {}): unknown {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "demo", name: "serve", ...metadata },
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.7",
      ipFamilies: ["IPv4"],
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ...spec,
    },
  };
}

const PLAIN = {
  headless: false,
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  families: ["IPv4"],
  sessionAffinity: "None",
  internalTrafficPolicy: "Cluster",
};

const SIX_FIRST = ["IPv6", "IPv4"];
const BAD_FAMILY = "invalid-object spec.ipFamilies";
const POLICIES = { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" };
const DNS = { name: "dns", port: 53, protocol: "UDP" };
const H2C = { name: "h2c", port: 53, appProtocol: "kubernetes.io/h2c" };
const SCTP = { name: "sctp", port: 53, protocol: "SCTP" };

describe("a Service", () => {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 10 } };
  const cases: ParseCases = {
    "of type ClusterIP is exported": [{}, {}],
    "without a type is a ClusterIP": [{ type: undefined }, {}],
    "of type NodePort is exported as a ClusterIP is": [{ type: "NodePort" }, {}],
    "of type LoadBalancer is exported as a ClusterIP is": [{ type: "LoadBalancer" }, {}],
    "without an IP is headless": [{ clusterIP: "None" }, { headless: true }],
    "of an unknown type is none": [{ type: "Ingress" }, undefined, "invalid-object spec.type"],
    "keeps the order of its families": [{ ipFamilies: SIX_FIRST }, { families: SIX_FIRST }],
    "without families is none": [{ ipFamilies: undefined }, undefined, BAD_FAMILY],
    "of an unknown family has the others": [{ ipFamilies: ["IPv4", "IPX"] }, {}, BAD_FAMILY],
    "keeps affinity and its time": [
      { sessionAffinity: "ClientIP", sessionAffinityConfig },
      { sessionAffinity: "ClientIP", affinitySeconds: 10 },
    ],
    "has no timeout without session affinity": [{ sessionAffinityConfig }, {}],
    "keeps the spelling of its policies": [POLICIES, POLICIES],
    "keeps ports of any protocol, by default TCP, and application protocols": [
      { ports: [DNS, H2C, SCTP] },
      { ports: [DNS, { ...H2C, protocol: "TCP" }, SCTP] },
    ],
    "may have no ports": [
      { ports: undefined, clusterIP: "None" },
      { ports: [], headless: true },
    ],
  };
  testCases(
    cases,
    (spec) => {
      const { fact, problems, key } = parseService(service(spec as Fields));
      assert.equal(key, "demo/serve");
      return { fact: fact?.properties, problems };
    },
    PLAIN,
  );

  test("of type ExternalName has a fact without properties", () => {
    const external = service({ type: "ExternalName", ipFamilies: undefined });
    const { fact, problems } = parseService(external);
    assert.deepEqual([fact, problems], [{ key: "demo/serve" }, []]);
  });

  test("with an invalid name gives no fact", () => {
    assert.equal(parseService(service({}, { name: "a.b" })).key, undefined);
  });
});

const SERVICE = "kubernetes.io/service-name";
const LABEL_PATH = `metadata.labels[${SERVICE}]` as const;

/** A slice with these labels, annotations and fields. */
function slice({ fields, annotations, ...labels }: Fields): unknown {
  return {
    metadata: {
      namespace: "demo",
      name: "serve-x7",
      labels: { [SERVICE]: "serve", ...labels },
      annotations,
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP", appProtocol: "http" }],
    endpoints: [{ addresses: ["10.1.0.1"] }],
    ...(fields as Fields),
  };
}

const KARMADA = {
  [LABEL_MANAGED_BY]: "endpointslice-dispatch-controller.karmada.io",
  "karmada.io/managed": "true",
};
const READY = { address: "10.1.0.1", ready: true, serving: true, terminating: false };
const PLAIN_SLICE = {
  key: "demo/serve-x7",
  service: "demo/serve",
  family: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 8080, appProtocol: "http" }],
  endpoints: [READY],
};

describe("a slice of a Service", () => {
  const NAMES = { hostname: "a", nodeName: "n1", zone: "z" };
  const endpoints = [
    { addresses: ["10.1.0.1", "10.1.0.2"], conditions: {}, ...NAMES },
    { addresses: ["10.1.0.3"], conditions: { ready: false } },
    { addresses: ["10.1.0.4"], conditions: { ready: false, serving: true, terminating: true } },
    { addresses: ["10.1.0.5"], conditions: { ready: true, serving: true, terminating: true } },
  ];
  const cases: ParseCases<Fields> = {
    "is read": [{}, {}],
    "is read, whoever manages it": [{ [LABEL_MANAGED_BY]: "somebody" }, {}],
    "keeps all endpoints, ready or not, and what is said of them": [
      { fields: { endpoints } },
      {
        endpoints: [
          { ...READY, ...NAMES },
          { address: "10.1.0.3", ready: false, serving: false, terminating: false },
          { address: "10.1.0.4", ready: false, serving: true, terminating: true },
          { address: "10.1.0.5", ready: true, serving: true, terminating: true },
        ],
      },
    ],
    "names its source cluster": [{ [LABEL_SOURCE_CLUSTER]: "c2" }, { source: "c2" }],
    "that Karmada's MultiClusterService copied names its source cluster by an annotation": [
      { annotations: { "endpointslice.karmada.io/provision-cluster": "member2" }, ...KARMADA },
      { source: "member2" },
    ],
    "without a Service is nobody's": [{ [SERVICE]: undefined }, undefined],
    "that was imported is not the Service's": [{ [LABEL_SERVICE_NAME]: "serve" }, undefined],
    "that is published is not the Service's": [{ [LABEL_RECORD]: "serve.demo" }, undefined],
    "that we manage is not its": [{ [LABEL_MANAGED_BY]: "clusterset-controller" }, undefined],
    "of a name that is none": [{ [SERVICE]: "a.b" }, undefined, `invalid-label ${LABEL_PATH}`],
    "of names": [{ fields: { addressType: "FQDN" } }, undefined, "fqdn-slice addressType"],
    "with an endpoint in the ClusterSet CIDR has the others": [
      { fields: { endpoints: [{ addresses: ["241.0.0.1"] }, { addresses: ["10.1.0.1"] }] } },
      {},
      "in-clusterset-cidr endpoints[0].addresses[0]",
    ],
    "lists a thousand endpoints at most": [
      { fields: { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["10.1.0.1"] })) } },
      { endpoints: Array.from({ length: 1000 }, () => READY) },
      "too-many-endpoints endpoints",
    ],
  };
  testCases(
    cases,
    (change) => {
      const parsed = parseServiceSlice(slice(change), [cidr("241.0.0.0/8")]);
      assert.equal(parsed.key, "demo/serve-x7");
      return parsed;
    },
    PLAIN_SLICE,
  );
});

describe("a Namespace", () => {
  const cases: ParseCases<Fields> = {
    "has a name and a uid": [{}, {}],
    "with the time of its deletion is terminating": [
      { deletionTimestamp: "2026-01-01T00:00:00Z" },
      { terminating: true },
    ],
    "of phase Terminating is terminating": [{ phase: "Terminating" }, { terminating: true }],
    "with an invalid name is none": [{ name: "a.b" }, undefined, "invalid-name metadata.name"],
    "without a uid is none": [{ uid: undefined }, undefined, "invalid-object metadata.uid"],
  };
  testCases(
    cases,
    ({ phase = "Active", ...metadata }) =>
      parseNamespace({ metadata: { name: "demo", uid: "u1", ...metadata }, status: { phase } }),
    { name: "demo", uid: "u1", terminating: false },
  );
});

function asking(value: unknown): { readonly [field: string]: unknown } {
  const annotations = { "clusterset-proxy.io/cluster-ip-failover": value };
  return { metadata: { namespace: "demo", name: "serve", uid: "u1", annotations } };
}

test("only true and false say whether a Service or a Namespace asks for failover; all else is a problem", () => {
  for (const [value, answer] of [
    ["true", true],
    ["false", false],
    [undefined, undefined],
    [null, undefined],
  ] as const) {
    const service = parseService({ ...asking(value), spec: { type: "ExternalName" } });
    assert.deepEqual([service.fact?.failover, service.problems], [answer, []]);
    const namespace = parseNamespace({
      metadata: { name: "demo", ...(asking(value).metadata as object), namespace: undefined },
    });
    assert.deepEqual([namespace.fact?.failover, namespace.problems], [answer, []]);
  }
  for (const value of ["True", "yes", "", "toString", true, 1, {}]) {
    const { fact, problems } = parseService({ ...asking(value), spec: { type: "ExternalName" } });
    assert.equal(fact?.failover, undefined);
    const [told, ...more] = problems.map((one) => `${one.object} ${one.reason} ${one.field}`);
    const path = "metadata.annotations[clusterset-proxy.io/cluster-ip-failover]";
    assert.deepEqual([told, more], [`Service demo/serve invalid-policy ${path}`, []]);
  }
});

const named = { name: "n1" };

/** The ranges of the fact, and the problems. */
function nodeRanges(object: unknown) {
  const { fact, problems } = parseNode(object);
  return ranges({ problems, object: "", ...(fact && { fact: fact.podRanges }) });
}

function ranges({ fact, problems }: ReturnType<typeof parseServiceRanges>) {
  const told = problems.map(({ reason, field }) => `${reason} ${field}`);
  return [fact?.map(({ text }) => text), told];
}

test("parses pod ranges of a Node and ranges of a ServiceCIDR", () => {
  const podCIDRs = ["10.1.0.0/24", "fd00:1::/64"];
  assert.deepEqual(nodeRanges({ metadata: named, spec: { podCIDRs } }), [podCIDRs, []]);
  const service = { metadata: named, spec: { cidrs: ["10.96.0.0/12"] } };
  assert.deepEqual(ranges(parseServiceRanges(service)), [["10.96.0.0/12"], []]);
});

test("a ServiceCIDR without ranges gives no fact; invalid ranges are left out and reported", () => {
  assert.deepEqual(ranges(parseServiceRanges({ metadata: named, spec: {} })), [undefined, []]);
  assert.deepEqual(nodeRanges({ metadata: named, spec: {} }), [[], []]);
  const podCIDRs = ["x", 7, "10.0.0.0/8"];
  assert.deepEqual(nodeRanges({ metadata: named, spec: { podCIDRs } }), [
    ["10.0.0.0/8"],
    ["invalid-cidr spec.podCIDRs[0]", "invalid-cidr spec.podCIDRs[1]"],
  ]);
  assert.equal(parseServiceRanges({ metadata: named, spec: { cidrs: "x" } }).problems.length, 1);
});
