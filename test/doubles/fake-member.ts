import { LABEL_PEER } from "../../api/keys.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { FakeApiServer } from "./fake-api-server.ts";

export const FAKE_PORTS = [{ name: "http", port: 80, protocol: "TCP" }];

/** What a cluster says of itself: ClusterProperties, by name. */
export function fakeProperties(values: Readonly<Record<string, string>>): object[] {
  return Object.entries(values).map(([name, value]) => ({
    ...{ apiVersion: "about.k8s.io/v1beta1", metadata: { name }, spec: { value } },
  }));
}

function peerSecret(id: string): object {
  const metadata = {
    ...{ namespace: "clusterset-proxy", name: `peer-${id}` },
    labels: { [LABEL_PEER]: id },
  };
  return { apiVersion: "v1", metadata };
}

/** A cluster of a clusterset that has the Service shop/web, and imports it from cluster-1 and cluster-2. `peers`: clusters that it knows. */
export function fakeMember(
  id: string,
  set = "prod",
  beforeAnswer?: () => Promise<void>,
  peers: readonly string[] = [],
): Promise<FakeApiServer> {
  const slice = (cluster: string, address: string) =>
    sliceObject(`web-${cluster}`, "shop/web", { cluster }, FAKE_PORTS, [address]);
  return FakeApiServer.start({
    ...(beforeAnswer !== undefined && { beforeAnswer }),
    objects: {
      clusterproperties: fakeProperties({
        "cluster.clusterset.k8s.io": id,
        "clusterset.k8s.io": set,
      }),
      serviceimports: [importObject("shop/web", ["241.0.0.1"], FAKE_PORTS)],
      endpointslices: [slice("cluster-1", "10.1.0.1"), slice("cluster-2", "10.2.0.1")],
      secrets: peers.map(peerSecret),
      nodes: [{ apiVersion: "v1", metadata: { name: "n1" }, spec: {} }],
      services: [{ apiVersion: "v1", metadata: { namespace: "shop", name: "web" } }],
      namespaces: [{ apiVersion: "v1", metadata: { name: "kube-system" } }],
    },
  });
}
