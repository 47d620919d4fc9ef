import assert from "node:assert/strict";
import { debugView } from "../../controller/observe/debug.ts";
import { at, type Fields } from "../doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "./controller-world.ts";

export const KEY = "shop/web";
export const ASK = "clusterset-proxy.io/cluster-ip-failover";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
export const SOURCE = "multicluster.kubernetes.io/source-cluster";
export const MANAGER = "cluster-ip-failover.clusterset-proxy.io";

/** What an owner writes on the Service, or on another object. */
export function ask(cluster: MemoryCluster, value: string, kind = "services", key = KEY): void {
  cluster.edit(kind, key, { metadata: { annotations: { [ASK]: value } } });
}

export function slicesOf({ server }: MemoryCluster): Fields[] {
  return server.objects
    .list("endpointslices")
    .filter((slice) => at(slice, ["metadata", "labels", MANAGED_BY]) === MANAGER);
}

/** Cluster and address of each endpoint that the Service fails over to. */
export function failover(cluster: MemoryCluster): string[] {
  return slicesOf(cluster)
    .flatMap((slice) => {
      const from = at(slice, ["metadata", "labels", "multicluster.kubernetes.io/source-cluster"]);
      const endpoints = Array.isArray(slice.endpoints) ? slice.endpoints : [];
      return endpoints.map((endpoint) => `${String(from)} ${String(at(endpoint, ["addresses"]))}`);
    })
    .sort();
}

export function reasonOf({ controller }: MemoryCluster): string | undefined {
  const view = controller && debugView(controller, () => ({}));
  return view?.failover?.find(({ service }) => service === KEY)?.because;
}

/**
 * Three clusters, c1 and c2 in one region, that all serve and export the Service; c1 asks for failover. `leadsTo`: after so
 * long, it has these endpoints.
 */
export async function open(...flags: readonly string[]) {
  const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
  for (const [i, cluster] of world.clusters.entries()) {
    cluster.flags = ["--region", i === 2 ? "us" : "eu"];
    cluster.offer(KEY, [`10.${i + 1}.0.7`]);
  }
  c1.flags = ["--region", "eu", ...flags];
  ask(c1, "true");
  await world.run(20_000);
  const leadsTo = async (ms: number, endpoints: readonly string[], why?: string) => {
    await world.pass(ms);
    assert.deepEqual(failover(c1), endpoints, why);
  };
  return { world, c1, c2, c3, leadsTo };
}
