import fc from "fast-check";
import type { ClusterFact, ExportRecord, SliceFact } from "../../controller/model/facts.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Chance } from "../generators/chance.ts";
import { exportRecord } from "../generators/export-records.ts";
import { mutated } from "../generators/mutations.ts";
import { importObject, sliceObject } from "../generators/objects.ts";

/** The hostile cluster. */
export const PEER_ID = "c3";
const REGISTRY = registryNamespace(PEER_ID);
const SELECTORS = "clusterset-proxy.io/cluster-selectors";
const WEIGHTS = "clusterset-proxy.io/cluster-weights";
const UNSELECTED = "clusterset-proxy.io/unselected-clusters";
const HTTP = { name: "http", port: 8080, protocol: "TCP" } as const;
const POLICIES: readonly Readonly<Record<string, string>>[] = [
  {},
  { "clusterset-proxy.io/on-endpoint-death": "reset", "clusterset-proxy.io/udp": "follow" },
  { "clusterset-proxy.io/import": "created" },
  { [SELECTORS]: '[{"matchProperties":{}}]' },
  { [SELECTORS]: "[]", [WEIGHTS]: "c1=1,c9=999" },
  { "clusterset-proxy.io/min-ready": "100%", [UNSELECTED]: "nevr" },
];
const EXPORTED = {
  labels: {},
  annotations: {
    [SELECTORS]: '[{"matchProperties":{"region.topology.k8s.io":"us-east"}}]',
    ...{ [WEIGHTS]: "c3=1", [UNSELECTED]: "never" },
    "argocd.argoproj.io/sync-options": "Delete=true",
  },
};

/** An object that somebody writes, or deletes. */
interface Written {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
}

/** A random write of a tenant who may do everything in the namespace `evil`. `wanted`: addresses that it wants for itself. */
export function tenantWrite(chance: Chance, wanted: readonly string[]) {
  const name = oneOf(chance, ["a", "old", "web", "z"]);
  const key = `evil/${name}` as const;
  const some = [...new Set([oneOf(chance, wanted), oneOf(chance, wanted)])];
  const metadata = { namespace: "evil", name };
  const object = oneOf<() => object>(chance, [
    () => {
      const ports = many(chance, [0, 1, 2, 50], (i) => {
        return { name: `p${i}`, port: 80 + i, protocol: oneOf(chance, ["TCP", "UDP"]) };
      });
      const options = { sessionAffinity: oneOf(chance, ["None", "ClientIP"]) };
      const imported = importObject(key, chance.percent(20) ? [] : some, ports, options);
      return { ...imported, metadata: { ...metadata, annotations: oneOf(chance, POLICIES) } };
    },
    () => {
      const origin = { cluster: oneOf(chance, ["c1", "c2", "c9"]), region: "eu-west" };
      const addresses = [...some, ...many(chance, [0, 1, 100], (i) => `10.1.7.${i + 1}`)];
      return sliceObject(`${name}-${chance.below(20)}`, key, origin, [HTTP], addresses);
    },
    () => ({ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport", metadata }),
    () => {
      const spec = { ports: [{ port: 80 }], externalIPs: some };
      return { apiVersion: "v1", kind: "Service", metadata, spec };
    },
  ])() as Written & { readonly spec?: object };
  const isDeletion = chance.percent(15);
  // The API server rejects most of what the schema does not allow.
  const isHostile = !isDeletion && chance.percent(30);
  const changed = isHostile ? { ...object, spec: hostile(chance, object.spec ?? {}) } : object;
  return { object: changed, isDeletion };
}

/** A random write of a peer into its own registry. `wanted`: addresses of others that it publishes as its endpoints. */
export function peerWrite(chance: Chance, wanted: readonly string[]): object {
  const key = oneOf(chance, ["shop/web", "evil/a", "evil/web", "shop/other"] as const);
  const cluster = chance.percent(90) ? PEER_ID : "c1";
  const object = oneOf<() => object>(chance, [
    () => {
      const ports = many(chance, [1, 2, 100], (i) => {
        return { name: i === 0 ? "http" : `p${i}`, port: 80 + i, protocol: "TCP" } as const;
      });
      const record: ExportRecord = exportRecord({
        ...{ cluster, key, ports, metadata: EXPORTED, headless: chance.percent(50) },
        exported: oneOf(chance, [-62_167_219_200_000, 1_559_347_200_000, 1_580_515_200_000]),
        families: oneOf(chance, [["IPv4"], ["IPv6"]] as const),
        sessionAffinity: oneOf(chance, ["None", "ClientIP"] as const),
      });
      return encodeRecord(record, REGISTRY);
    },
    () => {
      const own = many(chance, [1, 3, 200], (i) => `10.3.9.${i + 1}`);
      const slice: SliceFact = {
        key: `${REGISTRY}/${key.split("/").reverse().join(".")}.v4-${chance.below(30)}`,
        ...{ service: key, family: "IPv4", ports: [HTTP] },
        endpoints: [...new Set([oneOf(chance, wanted), ...own])].map((address) => ({
          ...{ address, ready: true, serving: true, terminating: false, nodeName: "n1" },
        })),
      };
      return encodeSlice(slice, cluster);
    },
    () => {
      const lease: ClusterFact = {
        id: oneOf(chance, [PEER_ID, PEER_ID, "c1", "c2"]),
        uid: "hostile",
        region: oneOf(chance, ["eu-west", "us-east"]),
        properties: oneOf(chance, [{}, { "a.example": "b" }]),
        leaseSeconds: oneOf(chance, [1, 6, 3600]),
        renewal: `2026-11-22T00:00:00.${String(chance.below(1_000_000)).padStart(6, "0")}Z`,
        complete: chance.percent(50),
      };
      return encodeCluster(lease, REGISTRY);
    },
  ])();
  if (!chance.percent(25)) return object;
  const { apiVersion, kind, metadata, ...rest } = object as Written;
  return { ...Object(hostile(chance, rest)), apiVersion, kind, metadata };
}

function many<T>(chance: Chance, counts: readonly number[], make: (i: number) => T): T[] {
  return Array.from({ length: oneOf(chance, counts) }, (_, i) => make(i));
}

function hostile(chance: Chance, value: unknown): unknown {
  return fc.sample(mutated(value), { numRuns: 1, seed: chance.below(2 ** 31) })[0];
}

/** One of a list that is not empty. */
function oneOf<T>(chance: Chance, list: readonly T[]): T {
  const found = list[chance.below(list.length)];
  if (found === undefined) throw new Error("an empty list");
  return found;
}
