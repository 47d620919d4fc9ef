import type { ClusterFact, ExportRecord, SliceFact } from "../../controller/model/facts.ts";
import { registryNamespace } from "../../controller/registry/names.ts";

/** The registry of cluster c2, and one object of each kind with every field. */

export const NAMESPACE = registryNamespace("c2");
export const RECORD: ExportRecord = {
  cluster: "c2",
  key: "demo/serve",
  exported: 1_767_225_600_000,
  metadata: { labels: { team: "a" }, annotations: { "example.com/note": "b" } },
  headless: false,
  ports: [{ name: "http", protocol: "TCP", port: 80, appProtocol: "http" }],
  families: ["IPv4", "IPv6"],
  sessionAffinity: "ClientIP",
  affinitySeconds: 10,
  internalTrafficPolicy: "Local",
  trafficDistribution: "PreferClose",
};
export const SLICE: SliceFact = {
  key: `${NAMESPACE}/serve.demo.v4-0` as SliceFact["key"],
  service: "demo/serve",
  family: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 8080, appProtocol: "http" }],
  endpoints: [
    {
      address: "10.2.0.1",
      ready: true,
      serving: true,
      terminating: false,
      hostname: "h",
      nodeName: "n",
      zone: "z",
    },
  ],
};
export const CLUSTER: ClusterFact = {
  id: "c2",
  uid: "u",
  clusterSet: "prod",
  region: "eu",
  properties: { "a.example": "b" },
  accepts: { c1: "10.1.0.0/16" },
  leaseSeconds: 30,
  renewal: "2026-01-01T00:00:00.000000Z",
  completeExcept: new Set(["shop/web"]),
};
