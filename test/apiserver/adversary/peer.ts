import fc from "fast-check";
import { registryNamespace } from "../../../controller/registry/names.ts";
import type { Chance } from "../../generators/chance.ts";
import { mutated } from "../../generators/mutations.ts";
import { oneOf } from "./tenant.ts";

/** The hostile cluster. */
export const PEER_ID = "c3";
const NAMESPACE = registryNamespace(PEER_ID);
const SERVICES = ["web.shop", "a.evil", "web.evil", "other.shop"] as const;
const AGES = ["0000-01-01T00:00:00Z", "2019-06-01T00:00:00Z", "2020-02-01T00:00:00Z", "x"];
const SELECTORS = '[{"matchProperties":{"region.topology.k8s.io":"us-east"}}]';

/** An object that a peer writes into its own registry, where it may write everything. */
export interface PeerObject {
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
}

/** A random write of a peer. `wanted`: addresses of others that it publishes as its endpoints. */
export function peerWrite(chance: Chance, wanted: readonly string[]): PeerObject {
  const record = oneOf(chance, SERVICES);
  const object = oneOf(chance, [
    () => recordOf(chance, record),
    () => sliceOf(chance, record, wanted),
    () => lease(chance),
  ])();
  if (!chance.percent(25)) return object;
  const { apiVersion, kind, metadata, ...rest } = object as PeerObject & Record<string, unknown>;
  const [changed] = fc.sample(mutated(rest), { numRuns: 1, seed: chance.below(2 ** 31) });
  return { ...Object(changed), apiVersion, kind, metadata };
}

function recordOf(chance: Chance, name: string): PeerObject {
  const annotations = {
    "clusterset-proxy.io/exported-at": oneOf(chance, AGES),
    "clusterset-proxy.io/exported-annotations": JSON.stringify({
      "clusterset-proxy.io/cluster-selectors": SELECTORS,
      "clusterset-proxy.io/cluster-weights": "c3=1",
      "clusterset-proxy.io/unselected-clusters": "never",
      "argocd.argoproj.io/sync-options": "Delete=true",
    }),
  };
  const count = oneOf(chance, [1, 2, 100]);
  const ports = Array.from({ length: count }, (_, i) => ({
    ...{ name: i === 0 ? "http" : `p${i}`, port: 80 + i, protocol: "TCP" },
  }));
  return {
    ...{ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" },
    ...{ metadata: { namespace: NAMESPACE, name, labels: labelsOf(chance, name), annotations } },
    spec: {
      type: oneOf(chance, ["ClusterSetIP", "Headless"]),
      ports,
      ipFamilies: oneOf(chance, [["IPv4"], ["IPv6"]]),
      sessionAffinity: oneOf(chance, ["None", "ClientIP"]),
    },
  } as PeerObject;
}

function sliceOf(chance: Chance, record: string, wanted: readonly string[]): PeerObject {
  const four = wanted.filter((one) => !one.includes(":"));
  const many = Array.from({ length: oneOf(chance, [1, 3, 200]) }, (_, i) => `10.3.9.${i + 1}`);
  const addresses = [...new Set([oneOf(chance, four), ...many])];
  return {
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
    ...{
      metadata: {
        ...{ namespace: NAMESPACE, name: `${record}.v4-${chance.below(30)}` },
        labels: labelsOf(chance, record),
      },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({
      ...{ addresses: [address], conditions: { ready: true }, nodeName: "n1" },
    })),
  } as PeerObject;
}

function lease(chance: Chance): PeerObject {
  return {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
    metadata: {
      ...{ namespace: NAMESPACE, name: "cluster" },
      labels: {
        "multicluster.kubernetes.io/source-cluster": oneOf(chance, [PEER_ID, PEER_ID, "c1", "c2"]),
        "topology.kubernetes.io/region": oneOf(chance, ["eu-west", "us-east"]),
      },
      annotations: {
        "clusterset-proxy.io/complete": oneOf(chance, ["true", "false"]),
        "clusterset-proxy.io/cluster-properties": oneOf(chance, ["{}", "[", '{"a.example":"b"}']),
      },
    },
    spec: {
      holderIdentity: "hostile",
      leaseDurationSeconds: oneOf(chance, [1, 6, 3600]),
      renewTime: `2026-11-22T00:00:00.${String(chance.below(1_000_000)).padStart(6, "0")}Z`,
    },
  } as PeerObject;
}

function labelsOf(chance: Chance, record: string): Record<string, string> {
  return {
    "clusterset-proxy.io/record": record,
    "multicluster.kubernetes.io/source-cluster": chance.percent(90) ? PEER_ID : "c1",
  };
}
