import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { deniedIn } from "./denied.ts";
import { blockWith, commandsOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { paste } from "./person.ts";

// The hub of docs/guides/mesh-or-hub.md, by copy and paste: two clusters, and an API server that is nobody's.

const GUIDE = "mesh-or-hub.md";

describe("two clusters that know only a hub", () => {
  let clusters: Clusters;
  before(async () => {
    const regions = ["eu-west", "us-east"];
    clusters = await Clusters.create({ clusters: 3, regions, images: await productImages() });
    // The names that the guide has for them.
    await paste(
      clusters,
      `kubectl config rename-context cluster-1 c1
       kubectl config rename-context cluster-2 c2
       kubectl config rename-context cluster-3 hub
       kubectl --context c1 apply -k deploy/overlays/hub
       kubectl --context c2 apply -k deploy/overlays/hub`,
    );
  });
  after(() => clusters?.remove());

  test("a pod of one is answered by a pod of the other, and neither has asked the other's API server for anything", async () => {
    // Clusters that do not reach each other's API servers are what a hub is for.
    await clusters.cut("cluster-1", "cluster-2", "api");
    await paste(clusters, `${blockWith(GUIDE, "registry_kubeconfig()")}\n${steps("c1", "1")}`);
    await paste(clusters, `${blockWith(GUIDE, "registry_kubeconfig()")}\n${steps("c2", "2")}`);
    const said = await paste(clusters, TRY);
    const [server] = said.match(/"name":"web-[^"]*"/) ?? [];
    assert.ok(server, said);
    for (const { plane } of clusters.all) assert.deepEqual(deniedIn(plane.auditFile), []);
  });

  /** What the guide says of c1, for this cluster; addresses are those that it has here. */
  function steps(cluster: string, number: string): string {
    const { url } = clusters.cluster("cluster-3").plane;
    const guide = `${commandsOf(GUIDE, "Hub, step by step")}\n${blockWith(GUIDE, "kind: ClusterProperty")}`;
    return guide
      .replaceAll("https://hub.example.com:6443", url)
      .replaceAll("10.1.0.0/16,fd00:1::/48", `10.${number}.0.0/16,fd00:10:${number}::/48`)
      .replaceAll(/\bc1\b/g, cluster);
  }
});

const TRY = `
for cluster in c1 c2; do
  kubectl --context $cluster -n clusterset-proxy rollout status --timeout=180s daemonset/clusterset-agent
  kubectl --context $cluster -n clusterset-proxy rollout status --timeout=180s deployment/clusterset-controller
  kubectl --context $cluster create namespace shop
done
kubectl --context c2 -n shop create deployment web --image=lab.local/probe:1
kubectl --context c2 -n shop expose deployment web --port=80 --target-port=8080
kubectl --context c2 -n shop rollout status --timeout=120s deployment/web
kubectl --context c1 -n shop run client --image=lab.local/probe:1
kubectl --context c1 -n shop wait --for=condition=Ready --timeout=60s pod/client
kubectl --context c2 -n shop apply -f - <<'END'
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: web }
END
until vip=$(kubectl --context c1 -n shop get serviceimport web -o 'jsonpath={.spec.ips[0]}') && [ -n "$vip" ]; do sleep 0.2; done
until kubectl --context c1 -n shop exec client -- node /app/request/request.ts "http://$vip"; do sleep 0.2; done
`;
