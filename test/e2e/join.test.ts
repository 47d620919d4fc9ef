import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildProgram } from "../../scripts/build/bundle.ts";
import { Clusters } from "../cluster/clusters.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { NEXT_RELEASE, nextImages, productImages } from "./images.ts";
import { paste } from "./person.ts";
import { Reader } from "./reader.ts";
import { tracesIn } from "./traces.ts";

// `kubectl clusterset join` and what follows it, by the bundle, on two clusters. The tests are one story, in order.

const CALL =
  "kubectl --context cluster-1 -n shop exec client -- node /app/request/request.ts http://web.shop.svc.clusterset.local";

describe("a life with kubectl clusterset", () => {
  const dist = mkdtempSync(join(tmpdir(), "clusterset-cli-"));
  let clusters: Clusters;
  let program = "";
  before(async () => {
    const images = [...(await productImages()), ...(await nextImages())];
    [program = ""] = await buildProgram("cli", dist);
    const regions = ["eu-west", "us-east"];
    clusters = await Clusters.create({ clusters: 2, nodes: 1, regions, images });
  });
  after(async () => {
    rmSync(dist, { recursive: true });
    await clusters?.remove();
  });

  function clusterset(argv: string): Promise<string> {
    return paste(clusters, `${process.execPath} ${program} ${argv} 2>&1`);
  }

  test("join makes two clusters a clusterset: controllers read each other, and names resolve", async () => {
    await using reader = new Reader(clusters, "install.md");
    const said = await reader.follow("Install");
    for (const [here, there] of [
      ["cluster-1", "cluster-2"],
      ["cluster-2", "cluster-1"],
    ]) {
      assert.match(said, new RegExp(`^${here}: clusterset-agent is ready$`, "m"));
      assert.match(said, new RegExp(`^${here}: its controller reads ${there}$`, "m"));
    }
    assert.match(said, /^cluster-2 +cluster-2 +us-east +10\.2\.0\.0\/16,/m);
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

  test("a second join writes nothing, and keeps addresses that were given", async () => {
    const said = await clusterset("join cluster-1 cluster-2 --clusterset prod --yes");
    assert.match(said, /^nothing to do$/m);
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

  test("leave takes one cluster after the other out, and leaves no object and no rule", async () => {
    const said = await clusterset("leave cluster-2 --context cluster-1 --yes");
    assert.match(said, /^no other cluster uses endpoints of cluster-2$/m);
    await clusterset("leave cluster-1 --yes");
    for (const id of ["cluster-1", "cluster-2"]) assert.deepEqual(await tracesIn(clusters, id), []);
  });
});
