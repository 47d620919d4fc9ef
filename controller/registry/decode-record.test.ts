import { describe } from "node:test";
import {
  ANNOTATION_EXPORTED_ANNOTATIONS,
  ANNOTATION_EXPORTED_AT,
  ANNOTATION_EXPORTED_LABELS,
  LABEL_RECORD,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { REGISTRY, record } from "../../test/generators/registry-objects.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { decodeRecord } from "./decode-record.ts";

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

const OTHER_LABEL = { labels: { [LABEL_RECORD]: "other.demo" } };
const RECORD_LABEL = `metadata.labels[${LABEL_RECORD}]`;
const SOURCE_LABEL = `metadata.labels[${LABEL_SOURCE_CLUSTER}]`;
const labelled = (labels: object) => ({
  annotations: { [ANNOTATION_EXPORTED_LABELS]: JSON.stringify(labels) },
});
const annotated = (annotations: object) => ({
  annotations: { [ANNOTATION_EXPORTED_ANNOTATIONS]: JSON.stringify(annotations) },
});
const LABELS_PATH = `metadata.annotations[${ANNOTATION_EXPORTED_LABELS}]`;
const ANNOTATIONS_PATH = `metadata.annotations[${ANNOTATION_EXPORTED_ANNOTATIONS}]`;
const AT_PATH = `metadata.annotations[${ANNOTATION_EXPORTED_AT}]`;
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${100 + i}`, "v"]));
const carried = (labels: object, annotations: object = {}) => ({
  metadata: { labels, annotations },
});

describe("a record", () => {
  const cases: ParseCases = {
    "that is plain": [record({}), {}],
    "of a headless Service": [record({}, { type: "Headless" }), { headless: true }],
    "without the label, so somebody's own": [
      record({ labels: { [LABEL_RECORD]: null } }),
      undefined,
    ],
    "in another namespace": [
      record({ namespace: "demo" }),
      undefined,
      "misplaced metadata.namespace",
    ],
    "under a name of no Service": [record({ name: "serve" }), undefined, "misplaced metadata.name"],
    "under a name of three parts": [
      record({ name: "a.b.c" }),
      undefined,
      "misplaced metadata.name",
    ],
    "labelled as another": [record(OTHER_LABEL), undefined, `misplaced ${RECORD_LABEL}`],
    "that claims its own cluster": [record({ labels: { [LABEL_SOURCE_CLUSTER]: "c2" } }), {}],
    "that claims another cluster": [
      record({ labels: { [LABEL_SOURCE_CLUSTER]: "c1" } }),
      undefined,
      `foreign-cluster ${SOURCE_LABEL}`,
    ],
    "of another type": [
      record({}, { type: "ExternalName" }),
      undefined,
      "invalid-object spec.type",
    ],
    "of no age": [
      record({ annotations: { [ANNOTATION_EXPORTED_AT]: null } }),
      undefined,
      `invalid-object ${AT_PATH}`,
    ],
    "of 2019, before the API existed": [
      record({ annotations: { [ANNOTATION_EXPORTED_AT]: "2019-12-31T23:59:59Z" } }),
      { exported: 8.64e15 },
      `implausible-age ${AT_PATH}`,
    ],
    "of 2020": [
      record({ annotations: { [ANNOTATION_EXPORTED_AT]: "2020-01-01T00:00:00Z" } }),
      { exported: Date.UTC(2020) },
    ],
    "without families": [
      record({}, { ipFamilies: [] }),
      undefined,
      "invalid-object spec.ipFamilies",
    ],
    "of a family twice": [
      record({}, { ipFamilies: ["IPv6", "IPv6"] }),
      { families: ["IPv6"] },
      "invalid-object spec.ipFamilies",
    ],
    "of IPv6 first": [record({}, { ipFamilies: ["IPv6", "IPv4"] }), { families: ["IPv6", "IPv4"] }],
    "with keys that pass for somebody else's": [
      record(
        labelled({
          "kubernetes.io/a": "1",
          "x.k8s.io/a": "1",
          "multicluster.x-k8s.io/a": "1",
          "clusterset-proxy.io/import": "1",
          "app.kubernetes.io/name": "1",
          "notkubernetes.io/a": "1",
        }),
      ),
      carried({ "app.kubernetes.io/name": "1", "notkubernetes.io/a": "1" }),
      ...Array.from({ length: 4 }, () => `reserved-key ${LABELS_PATH}`),
    ],
    "with keys of deployment tools": [
      record(
        labelled({
          "app.kubernetes.io/instance": "1",
          "app.kubernetes.io/managed-by": "Helm",
          "argocd.argoproj.io/instance": "1",
          "helm.sh/chart": "1",
          "kubectl.kubernetes.io/a": "1",
          "kustomize.toolkit.fluxcd.io/name": "1",
          "objectset.rio.cattle.io/hash": "1",
        }),
      ),
      carried({}),
      ...Array.from({ length: 7 }, () => `reserved-key ${LABELS_PATH}`),
    ],
    "with annotations that say how the import is to be served": [
      record(
        annotated({
          "clusterset-proxy.io/cluster-selectors": "[]",
          "clusterset-proxy.io/cluster-weights": "c1=1",
          "clusterset-proxy.io/min-ready": "3",
          "clusterset-proxy.io/on-endpoint-death": "reset",
          "clusterset-proxy.io/unselected-clusters": "never",
        }),
      ),
      carried(
        {},
        {
          "clusterset-proxy.io/cluster-selectors": "[]",
          "clusterset-proxy.io/cluster-weights": "c1=1",
          "clusterset-proxy.io/min-ready": "3",
          "clusterset-proxy.io/on-endpoint-death": "reset",
          "clusterset-proxy.io/unselected-clusters": "never",
        },
      ),
    ],
    "with labels that are none": [
      record(labelled({ "a b": "1", b: "x y", c: 5, d: "", e: "e" })),
      carried({ d: "", e: "e" }),
      `invalid-name ${LABELS_PATH}`,
      `invalid-label ${LABELS_PATH}[b]`,
      `invalid-label ${LABELS_PATH}[c]`,
    ],
    "with more than 64 labels": [
      record(labelled(many(65))),
      carried(many(64)),
      `too-many-keys ${LABELS_PATH}`,
    ],
    "with 64 annotations": [record(annotated(many(64))), carried({}, many(64))],
    "with more than 32,768 characters of annotations": [
      record(annotated({ a: "x".repeat(30_000), b: "x".repeat(3000), c: "x" })),
      carried({}, { a: "x".repeat(30_000) }),
      `too-many-keys ${ANNOTATIONS_PATH}`,
    ],
    "with labels that are no JSON object": [
      record({ annotations: { [ANNOTATION_EXPORTED_LABELS]: "[]" } }),
      {},
      `invalid-object ${LABELS_PATH}`,
    ],
    "that says a key twice": [
      record({ annotations: { [ANNOTATION_EXPORTED_LABELS]: '{"a":"1","a":"2"}' } }),
      {},
      `invalid-object ${LABELS_PATH}`,
    ],
    "with more than 100 ports": [
      record(
        {},
        { ports: Array.from({ length: 101 }, (_, i) => ({ name: `p${i}`, port: i + 1 })) },
      ),
      {
        ports: Array.from({ length: 100 }, (_, i) => ({
          name: `p${i}`,
          protocol: "TCP",
          port: i + 1,
        })),
      },
      "too-many-ports spec.ports",
    ],
    "with an application protocol that is none": [
      record({}, { ports: [{ name: "http", port: 80, appProtocol: "a b" }] }),
      {},
      "invalid-name spec.ports[0].appProtocol",
    ],
    "with policies that are none": [
      record({}, { sessionAffinity: "x", internalTrafficPolicy: "x", trafficDistribution: "x y" }),
      {},
      "invalid-policy spec.sessionAffinity",
      "invalid-policy spec.internalTrafficPolicy",
      "invalid-policy spec.trafficDistribution",
    ],
    "with an affinity of more than a day": [
      record(
        {},
        {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } },
        },
      ),
      { sessionAffinity: "ClientIP" },
      "invalid-policy spec.sessionAffinityConfig.clientIP.timeoutSeconds",
    ],
  };
  testCases(cases, (object) => decodeRecord(object, REGISTRY), PLAIN_RECORD);
});
