import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as apiKeys from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import {
  type Change,
  lease,
  REGISTRY,
  record,
  slice,
} from "../../test/generators/registry-objects.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { decodeCluster } from "./decode-cluster.ts";
import { decodeRecord, decodeSlice } from "./decode-record.ts";

const PLAIN_RECORD = {
  cluster: "c2",
  key: "demo/serve",
  exported: Date.UTC(2026, 0, 1),
  metadata: { labels: {}, annotations: {} },
  headless: false,
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  families: ["IPv4"],
  sessionAffinity: "None",
};

const label = (name: string, value: unknown) => ({ labels: { [name]: value } });
const annotation = (name: string, value: unknown) => ({ annotations: { [name]: value } });
/** What a later release writes besides: its version, and fields that this one does not know. */
const LATER: Change = {
  annotations: {
    [apiKeys.ANNOTATION_VERSION]: "99.0.0",
    "clusterset-proxy.io/format": "99",
    "clusterset-proxy.io/later": "{",
  },
  spec: { later: { than: ["this"] } },
};
const FOREIGN: ParseCases<Change>[string] = [
  label(apiKeys.LABEL_SOURCE_CLUSTER, "c1"),
  undefined,
  `foreign-cluster metadata.labels[${apiKeys.LABEL_SOURCE_CLUSTER}]`,
];
const OTHER_LABEL = label(apiKeys.LABEL_RECORD, "other.demo");
const RECORD_LABEL = `metadata.labels[${apiKeys.LABEL_RECORD}]`;

const labelled = (labels: object) =>
  annotation(apiKeys.ANNOTATION_EXPORTED_LABELS, JSON.stringify(labels));
const annotated = (annotations: object) =>
  annotation(apiKeys.ANNOTATION_EXPORTED_ANNOTATIONS, JSON.stringify(annotations));
const LABELS_PATH = `metadata.annotations[${apiKeys.ANNOTATION_EXPORTED_LABELS}]`;
const ANNOTATIONS_PATH = `metadata.annotations[${apiKeys.ANNOTATION_EXPORTED_ANNOTATIONS}]`;
const AT_PATH = `metadata.annotations[${apiKeys.ANNOTATION_EXPORTED_AT}]`;
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${100 + i}`, "v"]));
const manyPorts = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `p${i}`, protocol: "TCP", port: i + 1 }));
const carried = (labels: object, annotations: object = {}) => ({
  metadata: { labels, annotations },
});
const POLICIES = {
  "clusterset-proxy.io/cluster-selectors": "[]",
  "clusterset-proxy.io/cluster-weights": "c1=1",
  "clusterset-proxy.io/min-ready": "3",
  "clusterset-proxy.io/on-endpoint-death": "reset",
  "clusterset-proxy.io/unselected-clusters": "never",
};
/** Keys of deployment tools, which the object of another cluster must not have. */
const OF_TOOLS = [
  ...["app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "argocd.argoproj.io/instance"],
  ...["helm.sh/chart", "kubectl.kubernetes.io/a", "kustomize.toolkit.fluxcd.io/name"],
  "objectset.rio.cattle.io/hash",
];

describe("a record", () => {
  const cases: ParseCases<Change> = {
    "that is plain, as of a release before versions": [{}, {}],
    "of a newer release": [LATER, {}],
    "of a headless Service": [{ spec: { type: "Headless" } }, { headless: true }],
    "without the label, so somebody's own": [label(apiKeys.LABEL_RECORD, null), undefined],
    "in another namespace": [{ namespace: "demo" }, undefined, "misplaced metadata.namespace"],
    "under a name of no Service": [{ name: "serve" }, undefined, "misplaced metadata.name"],
    "under a name of three parts": [{ name: "a.b.c" }, undefined, "misplaced metadata.name"],
    "labelled as another": [OTHER_LABEL, undefined, `misplaced ${RECORD_LABEL}`],
    "that claims its own cluster": [label(apiKeys.LABEL_SOURCE_CLUSTER, "c2"), {}],
    "that claims another cluster": FOREIGN,
    "of another type": [{ spec: { type: "ExternalName" } }, undefined, "invalid-object spec.type"],
    "of no age": [
      annotation(apiKeys.ANNOTATION_EXPORTED_AT, null),
      undefined,
      `invalid-object ${AT_PATH}`,
    ],
    "of 2019, before the API existed": [
      annotation(apiKeys.ANNOTATION_EXPORTED_AT, "2019-12-31T23:59:59Z"),
      { exported: 8.64e15 },
      `implausible-age ${AT_PATH}`,
    ],
    "of 2020": [
      annotation(apiKeys.ANNOTATION_EXPORTED_AT, "2020-01-01T00:00:00Z"),
      { exported: Date.UTC(2020) },
    ],
    "without families": [{ spec: { ipFamilies: [] } }, undefined, "invalid-object spec.ipFamilies"],
    "of an API server that removes the families": [
      { spec: { ipFamilies: undefined } },
      { families: ["IPv4"] },
    ],
    "of such a server, with families that are none": [
      {
        spec: { ipFamilies: undefined },
        annotations: { "clusterset-proxy.io/ip-families": "IPv6,IPv6" },
      },
      { families: ["IPv4"] },
    ],
    "of a family twice": [
      { spec: { ipFamilies: ["IPv6", "IPv6"] } },
      { families: ["IPv6"] },
      "invalid-object spec.ipFamilies",
    ],
    "of IPv6 first": [{ spec: { ipFamilies: ["IPv6", "IPv4"] } }, { families: ["IPv6", "IPv4"] }],
    "with keys that pass for somebody else's": [
      labelled({
        "kubernetes.io/a": "1",
        "x.k8s.io/a": "1",
        "multicluster.x-k8s.io/a": "1",
        "clusterset-proxy.io/import": "1",
        "app.kubernetes.io/name": "1",
        "notkubernetes.io/a": "1",
      }),
      carried({ "app.kubernetes.io/name": "1", "notkubernetes.io/a": "1" }),
      ...Array.from({ length: 4 }, () => `reserved-key ${LABELS_PATH}`),
    ],
    "with keys of deployment tools": [
      labelled(Object.fromEntries(OF_TOOLS.map((key) => [key, "1"]))),
      carried({}),
      ...OF_TOOLS.map(() => `reserved-key ${LABELS_PATH}`),
    ],
    "with annotations that say how the import is to be served": [
      annotated(POLICIES),
      carried({}, POLICIES),
    ],
    "with labels that are none": [
      labelled({ "a b": "1", b: "x y", c: 5, d: "", e: "e" }),
      carried({ d: "", e: "e" }),
      `invalid-name ${LABELS_PATH}`,
      `invalid-label ${LABELS_PATH}[b]`,
      `invalid-label ${LABELS_PATH}[c]`,
    ],
    "with more than 64 labels": [
      labelled(many(65)),
      carried(many(64)),
      `too-many-keys ${LABELS_PATH}`,
    ],
    "with 64 annotations": [annotated(many(64)), carried({}, many(64))],
    "with more than 32,768 characters of annotations": [
      annotated({ a: "x".repeat(30_000), b: "x".repeat(3000), c: "x" }),
      carried({}, { a: "x".repeat(30_000) }),
      `too-many-keys ${ANNOTATIONS_PATH}`,
    ],
    "with labels that are no JSON object": [
      annotation(apiKeys.ANNOTATION_EXPORTED_LABELS, "[]"),
      {},
      `invalid-object ${LABELS_PATH}`,
    ],
    "that says a key twice": [
      annotation(apiKeys.ANNOTATION_EXPORTED_LABELS, '{"a":"1","a":"2"}'),
      {},
      `invalid-object ${LABELS_PATH}`,
    ],
    "with more than 100 ports": [
      { spec: { ports: manyPorts(101) } },
      { ports: manyPorts(100) },
      "too-many-ports spec.ports",
    ],
    "with an application protocol that is none": [
      { spec: { ports: [{ name: "http", port: 80, appProtocol: "a b" }] } },
      {},
      "invalid-name spec.ports[0].appProtocol",
    ],
    "with policies that are none": [
      { spec: { sessionAffinity: "x", internalTrafficPolicy: "x", trafficDistribution: "x y" } },
      {},
      "invalid-policy spec.sessionAffinity",
      "invalid-policy spec.internalTrafficPolicy",
      "invalid-policy spec.trafficDistribution",
    ],
    "with an affinity of more than a day": [
      {
        spec: {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } },
        },
      },
      { sessionAffinity: "ClientIP" },
      "invalid-policy spec.sessionAffinityConfig.clientIP.timeoutSeconds",
    ],
  };
  testCases(cases, (change) => decodeRecord(record(change), REGISTRY), PLAIN_RECORD);
});

describe("a record's slice", () => {
  const READ = { address: "10.2.0.1", ready: true, serving: true, terminating: false };
  const endpoint = (address: string, more: Fields = {}) => ({
    spec: { endpoints: [{ addresses: [address], ...more }, { addresses: ["10.2.0.1"] }] },
  });
  /** An endpoint that is left out, beside one that stays. */
  const leftOut = (address: string, reason: string): ParseCases<Change>[string] => [
    endpoint(address),
    { endpoints: [READ] },
    `${reason} endpoints[0].addresses[0]`,
  ];
  const LEAVING = { ready: false, serving: true, terminating: true };
  const cases: ParseCases<Change> = {
    "that is plain, as of a release before versions": [{}, { endpoints: [READ] }],
    "of a newer release": [LATER, { endpoints: [READ] }],
    "without the label, so somebody's own": [label(apiKeys.LABEL_RECORD, null), undefined],
    "in another namespace": [{ namespace: "demo" }, undefined, "misplaced metadata.namespace"],
    "under the record's own name": [{ name: "serve.demo" }, undefined, "misplaced metadata.name"],
    "under any name": [{ name: "x" }, undefined, "misplaced metadata.name"],
    "under another's name": [{ name: "other.demo.v4-0" }, undefined, `misplaced ${RECORD_LABEL}`],
    "labelled as another's": [OTHER_LABEL, undefined, `misplaced ${RECORD_LABEL}`],
    "that claims another cluster": FOREIGN,
    "of names": [{ spec: { addressType: "FQDN" } }, undefined, "fqdn-slice addressType"],
    "outside its cluster's ranges": leftOut("10.3.0.1", "outside-endpoint-cidrs"),
    "inside the ClusterSet CIDR": leftOut("241.0.0.1", "in-clusterset-cidr"),
    "at the node's own address": leftOut("127.0.0.1", "loopback-address"),
    "with names that are none": [
      endpoint("10.2.0.2", { hostname: "a.b", nodeName: "N", zone: "a b" }),
      { endpoints: [{ ...READ, address: "10.2.0.2" }, READ] },
      "invalid-name endpoints[0].hostname",
      "invalid-name endpoints[0].nodeName",
      "invalid-label endpoints[0].zone",
    ],
    "with conditions": [
      endpoint("10.2.0.2", { conditions: LEAVING }),
      { endpoints: [{ address: "10.2.0.2", ...LEAVING }, READ] },
    ],
  };
  testCases(
    cases,
    (change) => {
      const { fact, problems } = decodeSlice(slice(change), REGISTRY);
      return { fact: fact && { endpoints: fact.endpoints }, problems };
    },
    {},
  );

  test("may have any address if no range is declared for its cluster", () => {
    const anywhere = { ...REGISTRY, endpointCidrs: [] };
    const { fact } = decodeSlice(slice(endpoint("10.3.0.1")), anywhere);
    assert.equal(fact?.endpoints.length, 2);
  });
});

describe("a cluster's Lease", () => {
  const READ = {
    ...{ id: "c2", uid: "u1", properties: {}, leaseSeconds: 30, completeExcept: undefined },
    renewal: "2026-01-01T00:00:00.000000Z",
  };
  const REGION_PATH = `metadata.labels[${apiKeys.LABEL_REGION}]`;
  const without = (field: string, value: unknown): ParseCases<Change>[string] => [
    { spec: { [field]: value } },
    undefined,
    `invalid-object spec.${field}`,
  ];
  const cases: ParseCases<Change> = {
    "that is plain, as of a release before versions": [{}, {}],
    "of another name, so somebody's own": [{ name: "x" }, undefined],
    "in another namespace": [{ namespace: "demo" }, undefined, "misplaced metadata.namespace"],
    "that claims another cluster": FOREIGN,
    "of a member": [
      { labels: { [apiKeys.LABEL_CLUSTER_SET]: "prod", [apiKeys.LABEL_REGION]: "eu" } },
      { clusterSet: "prod", region: "eu" },
    ],
    "of a registry that holds all that is exported": [
      annotation(apiKeys.ANNOTATION_COMPLETE, "true"),
      { completeExcept: new Set() },
    ],
    "of a registry that rejects exports": [
      annotation(apiKeys.ANNOTATION_COMPLETE_EXCEPT, "blue,shop/web,blue"),
      { completeExcept: new Set(["blue", "shop/web"]) },
    ],
    "of a registry that rejects exports of no namespace": [
      annotation(apiKeys.ANNOTATION_COMPLETE_EXCEPT, "blue/"),
      {},
      `invalid-object metadata.annotations[${apiKeys.ANNOTATION_COMPLETE_EXCEPT}]`,
    ],
    "of a newer release": [LATER, { version: "99.0.0" }],
    "of a release that published ranges of peers as properties": [
      annotation(
        apiKeys.ANNOTATION_CLUSTER_PROPERTIES,
        '{"c2.endpoint-cidrs.clusterset-proxy.io":"10.2.0.0/16","a.example":"1"}',
      ),
      { properties: { "a.example": "1" } },
    ],
    "of a release that is none": [
      annotation(apiKeys.ANNOTATION_VERSION, "v".repeat(64)),
      {},
      `invalid-object metadata.annotations[${apiKeys.ANNOTATION_VERSION}]`,
    ],
    "that says something else of it": [annotation(apiKeys.ANNOTATION_COMPLETE, "perhaps"), {}],
    "with the ranges that it declares for its peers": [
      annotation(apiKeys.ANNOTATION_ACCEPTED_CIDRS, '{"c1":"10.1.0.0/16, fd00::/48"}'),
      { accepts: { c1: "10.1.0.0/16,fd00::/48" } },
    ],
    "with ranges of which some are none": [
      annotation(apiKeys.ANNOTATION_ACCEPTED_CIDRS, '{"c1":"10.1.0.0/99","c3":"10.3.0.0/16"}'),
      { accepts: { c3: "10.3.0.0/16" } },
      `invalid-cidr metadata.annotations[${apiKeys.ANNOTATION_ACCEPTED_CIDRS}]`,
    ],
    "with ranges that are no JSON": [
      annotation(apiKeys.ANNOTATION_ACCEPTED_CIDRS, "10.1.0.0/16"),
      {},
      `invalid-object metadata.annotations[${apiKeys.ANNOTATION_ACCEPTED_CIDRS}]`,
    ],
    "of a region that is none": [
      label(apiKeys.LABEL_REGION, "a b"),
      {},
      `invalid-label ${REGION_PATH}`,
    ],
    "of nobody": without("holderIdentity", ""),
    "that was never renewed": without("renewTime", null),
    "for ever": without("leaseDurationSeconds", 2 ** 31 - 1),
  };
  testCases(cases, (change) => decodeCluster(lease(change), REGISTRY), READ);
});
