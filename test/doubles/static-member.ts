import { importObject, sliceObject } from "../generators/objects.ts";
import { StaticApiServer, type StaticObject } from "./static-api-server.ts";

export const STATIC_PORTS = [{ name: "http", port: 80, protocol: "TCP" }];

/** What a cluster says of itself: ClusterProperties, by name. */
export function staticProperties(values: Readonly<Record<string, string>>): StaticObject[] {
  return Object.entries(values).map(([name, value]) => ({
    ...{ apiVersion: "about.k8s.io/v1beta1", metadata: { name }, spec: { value } },
  }));
}

/** A cluster of a clusterset that has the Service shop/web, and imports it from cluster-1 and cluster-2. */
export function staticMember(id: string, set = "prod"): Promise<StaticApiServer> {
  const slice = (cluster: string, address: string) =>
    sliceObject(`web-${cluster}`, "shop/web", { cluster }, STATIC_PORTS, [address]) as StaticObject;
  return StaticApiServer.start({
    objects: {
      clusterproperties: staticProperties({
        "cluster.clusterset.k8s.io": id,
        "clusterset.k8s.io": set,
      }),
      serviceimports: [importObject("shop/web", ["241.0.0.1"], STATIC_PORTS) as StaticObject],
      endpointslices: [slice("cluster-1", "10.1.0.1"), slice("cluster-2", "10.2.0.1")],
      nodes: [{ apiVersion: "v1", metadata: { name: "n1" }, spec: {} }],
      services: [{ apiVersion: "v1", metadata: { namespace: "shop", name: "web" } }],
      namespaces: [{ apiVersion: "v1", metadata: { name: "kube-system" } }],
    },
  });
}
