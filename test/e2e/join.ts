import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildProgram } from "../../scripts/build/bundle.ts";
import type { Clusters } from "../cluster/clusters.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { NEXT_RELEASE, nextImages } from "./images.ts";
import { paste, Reader } from "./reader.ts";
import { tracesIn } from "./rules.ts";

/** Addresses by which pods of other clusters reach API servers; the kubeconfig's are on the loopback. */
const API_SERVERS = [
  "--api-server cluster-1=https://172.20.1.11:6443",
  "--api-server cluster-2=https://172.20.2.11:6443",
] as const;

const CALL =
  "kubectl --context cluster-1 -n shop exec client -- node /app/request/request.ts http://web.shop.svc.clusterset.local";

/**
 * `kubectl clusterset join` and what follows it, by the bundle, on two clusters. The tests are one story, in order, and nothing is left in
 * the end.
 */
export function lifeWithPlugin(stage: () => Clusters): void {
  describe("a life with kubectl clusterset", () => {
    const dist = mkdtempSync(join(tmpdir(), "clusterset-cli-"));
    let clusters: Clusters;
    let program = "";
    before(async () => {
      clusters = stage();
      [program = ""] = await buildProgram("cli", dist);
      const nodes = clusters.all.flatMap((cluster) => cluster.nodes);
      for (const { archive } of await nextImages())
        for (const node of nodes) await node.load(archive);
    });
    after(() => rmSync(dist, { recursive: true }));

    function clusterset(argv: string): Promise<string> {
      return paste(clusters, `${process.execPath} ${program} ${argv} 2>&1`);
    }

    /** A command that is to fail: its output, and its exit code. */
    function failing(argv: string): Promise<string> {
      const command = `${process.execPath} ${program} ${argv}`;
      return paste(clusters, `{ ${command} || echo "exit code $?"; } 2>&1`);
    }

    test("a join that could not work says which pods do not reach what, and changes nothing", async () => {
      await clusters.cut("cluster-1", "cluster-2", "pods");
      const join = "join cluster-1 cluster-2 --clusterset prod --yes";
      const [one, two] = API_SERVERS;
      const wrong = two.replace(":6443", ":1");
      const cut = await failing(`${join} ${one} ${wrong}`);
      await clusters.heal();
      assert.match(cut, /^cluster-1 +cluster-2 +refused +timeout +timeout$/m);
      assert.match(cut, /^cluster-2 +cluster-1 +ok +timeout +timeout$/m);
      for (const line of [
        /^error: pods of cluster-1 do not reach the API server of cluster-2 at \S+\.2\.11:1: refused: /m,
        /^error: pods of cluster-1 do not reach pods of cluster-2, such as 10\.2\..*timeout: /m,
        /^error: pods of cluster-2 do not reach pods of cluster-1, such as 10\.1\..*timeout: /m,
        /^exit code 1$/m,
      ])
        assert.match(cut, line);
      const absent = "--controller-image nowhere.invalid/controller:1";
      const unpulled = await failing(`${join} ${absent}`);
      const why =
        /^error: cluster-1: nothing is known of its pods: .*\(ImagePullBackOff: .*nowhere/m;
      assert.match(unpulled, why);
      for (const id of ["cluster-1", "cluster-2"]) {
        const probes = ["wait", "--for=delete", "-l", "clusterset-proxy.io/probe", "namespaces"];
        await clusters.kubectl(id, [...probes, "--timeout=60s"]);
        assert.deepEqual(await tracesIn(clusters, id), []);
      }
    });

    test("join makes two clusters a clusterset, in which names resolve", async () => {
      await using reader = new Reader(clusters, "install.md");
      await reader.follow("Install");
      await paste(
        clusters,
        `for cluster in cluster-1 cluster-2; do kubectl --context $cluster create namespace shop; done
kubectl --context cluster-2 -n shop create deployment web --image=lab.local/probe:1
kubectl --context cluster-2 -n shop expose deployment web --port=80 --target-port=8080
kubectl --context cluster-2 -n shop rollout status --timeout=120s deployment/web
${process.execPath} ${program} export shop/web --context cluster-2
kubectl --context cluster-1 -n shop run client --image=lab.local/probe:1
kubectl --context cluster-1 -n shop wait --for=condition=Ready --timeout=60s pod/client
until ${CALL}; do sleep 1; done`,
      );
    });

    test("rotate replaces tokens that real pods use", async () => {
      const said = await clusterset("rotate cluster-1 cluster-2 --yes");
      assert.match(said, /^cluster-1: clusterset-registry-cluster-1\/secret\/cluster-2 deleted$/m);
      assert.match(said, /^cluster-2: clusterset-registry-cluster-2\/secret\/cluster-1 deleted$/m);
    });

    test("upgrade rolls a release out, cluster by cluster, and names still resolve", async () => {
      const images = ["agent", "controller"].map(
        (name) => `--${name}-image clusterset-${name}:${NEXT_RELEASE}`,
      );
      const said = await clusterset(`upgrade cluster-1 cluster-2 ${images.join(" ")} --yes`);
      assert.deepEqual(said.match(/^cluster-\d: clusterset-\w+ is ready$/gm), [
        "cluster-1: clusterset-controller is ready",
        "cluster-1: clusterset-agent is ready",
        "cluster-2: clusterset-controller is ready",
        "cluster-2: clusterset-agent is ready",
      ]);
      await paste(clusters, CALL);
    });

    test("no request of agents, controllers or peers was denied", () => {
      assertNone(clusters.all.flatMap(({ plane }) => deniedIn(plane.auditFile)));
    });

    test("leave --keep-crds keeps the CRDs, which another leave deletes", async () => {
      await clusterset("leave cluster-2 --context cluster-1 --keep-crds --yes");
      await clusters.kubectl("cluster-2", ["get", "crd", "serviceexports.multicluster.x-k8s.io"]);
    });

    test("leave takes one cluster after the other out, and leaves no object and no rule", async () => {
      const said = await clusterset("leave cluster-2 --context cluster-1 --yes");
      assert.match(said, /^no other cluster uses endpoints of cluster-2$/m);
      await clusterset("leave cluster-1 --yes");
      for (const id of ["cluster-1", "cluster-2"])
        assert.deepEqual(await tracesIn(clusters, id), []);
    });
  });
}
