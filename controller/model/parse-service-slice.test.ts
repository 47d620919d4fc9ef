import assert from "node:assert/strict";
import { describe } from "node:test";
import {
  LABEL_MANAGED_BY,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { cidr } from "../../test/generators/facts.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { parseServiceSlice } from "./parse-service-slice.ts";

const SERVICE = "kubernetes.io/service-name";

function slice(labels: Fields, fields: Fields = {}): unknown {
  return {
    metadata: { namespace: "demo", name: "serve-x7", labels: { [SERVICE]: "serve", ...labels } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP", appProtocol: "http" }],
    endpoints: [{ addresses: ["10.1.0.1"] }],
    ...fields,
  };
}

const READY = { address: "10.1.0.1", ready: true, serving: true, terminating: false };
const PLAIN = {
  key: "demo/serve-x7",
  service: "demo/serve",
  family: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 8080, appProtocol: "http" }],
  endpoints: [READY],
};

describe("a slice of a Service", () => {
  const endpoints = [
    {
      addresses: ["10.1.0.1", "10.1.0.2"],
      conditions: {},
      hostname: "a",
      nodeName: "n1",
      zone: "z",
    },
    { addresses: ["10.1.0.3"], conditions: { ready: false } },
    { addresses: ["10.1.0.4"], conditions: { ready: false, serving: true, terminating: true } },
    { addresses: ["10.1.0.5"], conditions: { ready: true, serving: true, terminating: true } },
  ];
  const cases: ParseCases = {
    "is read": [slice({}), {}],
    "is read, whoever manages it": [slice({ [LABEL_MANAGED_BY]: "somebody" }), {}],
    "keeps all endpoints, ready or not, and what is said of them": [
      slice({}, { endpoints }),
      {
        endpoints: [
          { ...READY, hostname: "a", nodeName: "n1", zone: "z" },
          { address: "10.1.0.3", ready: false, serving: false, terminating: false },
          { address: "10.1.0.4", ready: false, serving: true, terminating: true },
          { address: "10.1.0.5", ready: true, serving: true, terminating: true },
        ],
      },
    ],
    "names its source cluster": [slice({ [LABEL_SOURCE_CLUSTER]: "c2" }), { source: "c2" }],
    "that Karmada's MultiClusterService copied names its source cluster by an annotation": [
      {
        ...(slice({
          [LABEL_MANAGED_BY]: "endpointslice-dispatch-controller.karmada.io",
        }) as object),
        metadata: {
          namespace: "demo",
          name: "serve-x7",
          labels: {
            [SERVICE]: "serve",
            [LABEL_MANAGED_BY]: "endpointslice-dispatch-controller.karmada.io",
            "karmada.io/managed": "true",
          },
          annotations: { "endpointslice.karmada.io/provision-cluster": "member2" },
        },
      },
      { source: "member2" },
    ],
    "without a Service is nobody's": [slice({ [SERVICE]: undefined }), undefined],
    "that was imported is not the Service's": [slice({ [LABEL_SERVICE_NAME]: "serve" }), undefined],
    "that is published is not the Service's": [slice({ [LABEL_RECORD]: "serve.demo" }), undefined],
    "that we manage is not the Service's": [
      slice({ [LABEL_MANAGED_BY]: "clusterset-controller" }),
      undefined,
    ],
    "of a name that is none": [
      slice({ [SERVICE]: "a.b" }),
      undefined,
      `invalid-label metadata.labels[${SERVICE}]`,
    ],
    "of names": [slice({}, { addressType: "FQDN" }), undefined, "fqdn-slice addressType"],
    "with an endpoint in the ClusterSet CIDR has the others": [
      slice({}, { endpoints: [{ addresses: ["241.0.0.1"] }, { addresses: ["10.1.0.1"] }] }),
      {},
      "in-clusterset-cidr endpoints[0].addresses[0]",
    ],
    "lists a thousand endpoints at most": [
      slice({}, { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["10.1.0.1"] })) }),
      { endpoints: Array.from({ length: 1000 }, () => READY) },
      "too-many-endpoints endpoints",
    ],
  };
  testCases(
    cases,
    (object) => {
      const parsed = parseServiceSlice(object, [cidr("241.0.0.0/8")]);
      assert.equal(parsed.key, "demo/serve-x7");
      return parsed;
    },
    PLAIN,
  );
});
