import fc from "fast-check";
import type { Chance } from "../../generators/chance.ts";
import { mutated } from "../../generators/mutations.ts";
import { importObject, sliceObject } from "../../generators/objects.ts";

const NAMES = ["a", "old", "web", "z"] as const;
const POLICIES: readonly Readonly<Record<string, string>>[] = [
  {},
  { "clusterset-proxy.io/on-endpoint-death": "reset", "clusterset-proxy.io/udp": "follow" },
  { "clusterset-proxy.io/import": "created" },
  { "clusterset-proxy.io/cluster-selectors": '[{"matchProperties":{}}]' },
  {
    "clusterset-proxy.io/cluster-selectors": "[]",
    "clusterset-proxy.io/cluster-weights": "c1=1,c9=999",
  },
  { "clusterset-proxy.io/min-ready": "100%", "clusterset-proxy.io/unselected-clusters": "nevr" },
];

/** One write of a tenant who may do everything in the namespace `evil`, and nothing else. */
export interface TenantWrite {
  readonly object: { readonly kind: string; readonly metadata: { readonly name: string } };
  readonly isDeletion: boolean;
}

/** A random write. `wanted`: addresses that it wants for itself. */
export function tenantWrite(chance: Chance, wanted: readonly string[]): TenantWrite {
  const name = oneOf(chance, NAMES);
  const key = `evil/${name}` as const;
  const some = () => Array.from({ length: 1 + chance.below(2) }, () => oneOf(chance, wanted));
  const kinds = [
    () => imported(chance, key, [...new Set(some())]),
    () => slice(chance, key, some()),
    () => exported(name),
    () => service(name, some()),
  ];
  const object = oneOf<() => object>(chance, kinds)() as TenantWrite["object"];
  const isDeletion = chance.percent(15);
  // The API server rejects most of what the schema does not allow.
  const isHostile = !isDeletion && chance.percent(30);
  const changed = isHostile ? { ...object, spec: hostile(chance, object) } : object;
  return { object: changed, isDeletion };
}

function imported(chance: Chance, key: `${string}/${string}`, ips: readonly string[]) {
  const count = oneOf(chance, [0, 1, 2, 50]);
  const ports = Array.from({ length: count }, (_, i) => ({
    ...{ name: `p${i}`, port: 80 + i, protocol: oneOf(chance, ["TCP", "UDP"]) },
  }));
  const options = { sessionAffinity: oneOf(chance, ["None", "ClientIP"]) };
  return annotated(importObject(key, chance.percent(20) ? [] : ips, ports, options), {
    ...oneOf(chance, POLICIES),
  });
}

function slice(chance: Chance, key: `${string}/${string}`, addresses: readonly string[]) {
  const cluster = oneOf(chance, ["c1", "c2", "c9"]);
  const many = Array.from({ length: oneOf(chance, [0, 1, 100]) }, (_, i) => `10.1.7.${i + 1}`);
  const ports = [{ name: "p0", port: 8080, protocol: "TCP" }];
  const name = `${key.slice("evil/".length)}-${chance.below(20)}`;
  return sliceObject(name, key, { cluster, region: "eu-west" }, ports, [
    ...new Set([...addresses.filter((one) => !one.includes(":")), ...many]),
  ]);
}

function exported(name: string) {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { namespace: "evil", name },
  };
}

function service(name: string, addresses: readonly string[]) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "evil", name },
    spec: { ports: [{ port: 80 }], externalIPs: addresses.filter((one) => !one.includes(":")) },
  };
}

function annotated(object: object, annotations: Readonly<Record<string, string>>) {
  const { metadata, ...rest } = object as { metadata: { name: string }; kind: string };
  return { ...rest, metadata: { ...metadata, annotations } };
}

function hostile(chance: Chance, object: object): unknown {
  const spec = "spec" in object ? object.spec : {};
  const [changed] = fc.sample(mutated(spec), { numRuns: 1, seed: chance.below(2 ** 31) });
  return changed;
}

/** One of a list that is not empty. */
export function oneOf<T>(chance: Chance, list: readonly [T, ...T[]] | readonly T[]): T {
  const found = list[chance.below(list.length)];
  if (found === undefined) throw new Error("an empty list");
  return found;
}
