import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fields } from "../../api/parse/fields.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { parseService } from "./parse-service.ts";

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

describe("a Service", () => {
  const cases: ParseCases = {
    "of type ClusterIP is exported": [{}, {}],
    "without a type is a ClusterIP": [{ type: undefined }, {}],
    "of type NodePort is exported as a ClusterIP is": [{ type: "NodePort" }, {}],
    "of type LoadBalancer is exported as a ClusterIP is": [{ type: "LoadBalancer" }, {}],
    "without an IP is headless": [{ clusterIP: "None" }, { headless: true }],
    "of an unknown type is none": [{ type: "Ingress" }, undefined, "invalid-object spec.type"],
    "keeps the order of its families": [
      { ipFamilies: ["IPv6", "IPv4"] },
      { families: ["IPv6", "IPv4"] },
    ],
    "without families is none": [
      { ipFamilies: undefined },
      undefined,
      "invalid-object spec.ipFamilies",
    ],
    "of an unknown family has the others": [
      { ipFamilies: ["IPv4", "IPX"] },
      {},
      "invalid-object spec.ipFamilies",
    ],
    "keeps affinity and its time": [
      { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } },
      { sessionAffinity: "ClientIP", affinitySeconds: 10 },
    ],
    "has no timeout without session affinity": [
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } },
      {},
    ],
    "keeps the spelling of its policies": [
      { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" },
      { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" },
    ],
    "keeps ports of any protocol, by default TCP, and application protocols": [
      {
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "h2c", port: 53, appProtocol: "kubernetes.io/h2c" },
          { name: "sctp", port: 53, protocol: "SCTP" },
        ],
      },
      {
        ports: [
          { name: "dns", protocol: "UDP", port: 53 },
          { name: "h2c", protocol: "TCP", port: 53, appProtocol: "kubernetes.io/h2c" },
          { name: "sctp", protocol: "SCTP", port: 53 },
        ],
      },
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
    const { fact, problems } = parseService(
      service({ type: "ExternalName", ipFamilies: undefined }),
    );
    assert.deepEqual(fact, { key: "demo/serve" });
    assert.deepEqual(problems, []);
  });

  test("with an invalid name gives no fact", () => {
    assert.equal(parseService(service({}, { name: "a.b" })).key, undefined);
  });
});
