import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildProgram } from "../../scripts/build/bundle.ts";
import type { Clusters } from "../cluster/clusters.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { NEXT_RELEASE, nextImages, RELEASE } from "./images.ts";
import { paste, Reader } from "./reader.ts";
import { tracesIn } from "./rules.ts";

/** Addresses by which pods of other clusters reach API servers; the kubeconfig's are on the loopback. */
const API_SERVERS = [
  "--api-server cluster-1=https://172.20.1.11:6443",
  "--api-server cluster-2=https://172.20.2.11:6443",
] as const;

/** Longer than a cluster takes to become stale, on a machine that does other things, too. */
const PATIENCE_MS = 120_000;

/** Slices with endpoints of cluster-2. */
const OF_2 = "multicluster.kubernetes.io/source-cluster=cluster-2";

const SLICES = ["get", "endpointslices", "-A", "-o", "json"];

const CALL =
  "kubectl --context cluster-1 -n shop exec client -- node /app/request/request.ts http://web.shop.svc.clusterset.local";

/** Repeats a command until its output matches; returns that. */
async function until(
  run: (argv: string) => Promise<string>,
  argv: string,
  expected: RegExp,
): Promise<string> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const said = await run(argv);
    if (expected.test(said)) return said;
    if (performance.now() > end) throw new Error(`${argv} does not print ${expected}:\n${said}`);
    await sleep(1000);
  }
}

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
      assert.match(
        cut,
        /^error: pods of cluster-1 do not reach the API server of cluster-2 at https:\/\/172\.20\.2\.11:1: refused: /m,
      );
      for (const [from, to, address] of [
        ["cluster-1", "cluster-2", String.raw`10\.2\.`],
        ["cluster-2", "cluster-1", String.raw`10\.1\.`],
      ])
        assert.match(
          cut,
          new RegExp(
            `^error: pods of ${from} do not reach pods of ${to}, such as ${address}.*timeout: `,
            "m",
          ),
        );
      assert.match(cut, /^exit code 1$/m);
      const absent = "--controller-image nowhere.invalid/controller:1";
      const unpulled = await failing(`${join} ${absent}`);
      assert.match(
        unpulled,
        /^error: cluster-1: nothing is known of its pods: .*\(ImagePullBackOff: .*nowhere\.invalid\/controller:1/m,
      );
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

    test("join --skip-manifests leaves the programs alone, also where they differ", async () => {
      await paste(
        clusters,
        "kubectl --context cluster-1 -n clusterset-proxy scale deployment/clusterset-controller --replicas=1",
      );
      const join = "join cluster-1 cluster-2 --clusterset prod --yes --skip-manifests";
      const said = await clusterset(join);
      assert.match(said, /^nothing to do$/m);
      assert.doesNotMatch(said, /deployment|daemonset|customresourcedefinition/);
      await paste(
        clusters,
        "kubectl --context cluster-1 -n clusterset-proxy scale deployment/clusterset-controller --replicas=2",
      );
    });

    test("status has no problem, then shows a cluster that fell silent with exit code 3, and then that it is back", async () => {
      const status = 'status --all-contexts || echo "exit code $?"';
      const well = (await until(clusterset, status, /^No problems\.$/m)).replaceAll(
        RELEASE,
        "OURS",
      );
      assert.match(well, /^cluster-1 +eu-west +alive +renewing +\d+ ms +OURS +0 +0 +all 2$/m);
      assert.match(well, /^cluster-2 +eu-west +alive +renewing +\d+ ms +OURS +1 +1 +all 2$/m);
      assert.match(well, /^cluster-\d +2\/2 +1\/1 +1 +0 +0 +0 +OURS$/m);
      await clusters.cut("cluster-1", "cluster-2", "api");
      // Each finds the other stale, by its own clock.
      const both = /^cluster-1 +eu-west +stale [\s\S]*^cluster-2 +eu-west +stale +lease-silent /m;
      let stale = "";
      let json = "";
      try {
        stale = await until(clusterset, status, both);
        json = await clusterset("status --context cluster-1 -o json || true");
      } finally {
        await clusters.heal();
      }
      assert.match(
        stale,
        /^cluster-1 +eu-west +stale +lease-silent .* cluster-2 +silent for \d+ s/m,
      );
      assert.match(stale, /^cluster-2 +eu-west +alive +renewing .* cluster-2$/m);
      assert.match(stale, /^exit code 3$/m);
      const { contexts } = JSON.parse(json) as {
        readonly contexts: readonly { readonly clusters: readonly object[] }[];
      };
      assert.partialDeepStrictEqual(contexts[0]?.clusters, [
        { cluster: "cluster-1", state: "alive" },
        { cluster: "cluster-2", state: "stale", reason: "lease-silent" },
      ]);
      // Imports use the endpoints of the other cluster as usual a moment after it is alive.
      const isBack = /^cluster-1 .* alive .* all 2\ncluster-2 .* all 2$[\s\S]*^No problems\.$/m;
      assert.doesNotMatch(await until(clusterset, status, isBack), /exit code/);
    });

    test("a bundle has the objects, pages and logs of all clusters", async () => {
      const bundle = join(dist, "bundle.tar.gz");
      await clusterset(`bundle --all-contexts --file ${bundle}`);
      await paste(clusters, `tar -xzf ${bundle} -C ${dist} --one-top-level=bundle`);
      const files = readdirSync(join(dist, "bundle"), { recursive: true, withFileTypes: true });
      const texts = files
        .filter((file) => file.isFile())
        .map((file) => join(file.parentPath, file.name))
        .map((path) => [path, readFileSync(path, "utf8")] as const);
      for (const id of ["cluster-1", "cluster-2"]) {
        const own = texts.filter(([path]) => path.includes(`-${id}/`));
        const has = (file: RegExp, text: string) =>
          assert.ok(
            own.some(([path, all]) => file.test(path) && all.includes(text)),
            `${id}: ${file}`,
          );
        has(/serviceimports/, '"web"');
        has(/endpointslices/, "cluster-2");
        has(/controller/, "clusterset_controller_");
        has(/agent/, "clusterset_agent_");
        has(/\.log$/, '"level"');
      }
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

    test("leave --keep-programs makes a cluster the only member, which can join again", async () => {
      const said = await clusterset("leave cluster-2 --context cluster-1 --keep-programs --yes");
      assert.doesNotMatch(said, /daemonset|deployment/);
      const { items } = JSON.parse(
        await clusters.kubectl("cluster-1", [...SLICES, "-l", OF_2]),
      ) as { items: unknown[] };
      assert.deepEqual(items, []);
      const alone = await until(
        clusterset,
        "status --context cluster-2 || true",
        /^No problems\.$/m,
      );
      assert.doesNotMatch(alone, /^cluster-1 /m);
      const images = ["agent", "controller"].map(
        (name) => `--${name}-image clusterset-${name}:${NEXT_RELEASE}`,
      );
      await clusterset(
        `join cluster-1 cluster-2 --clusterset prod --yes ${[...API_SERVERS, ...images].join(" ")}`,
      );
      await clusterset("export shop/web --context cluster-2");
      await paste(clusters, `until ${CALL}; do sleep 1; done`);
    });

    test("leave --keep-crds keeps the CRDs, which another leave deletes", async () => {
      await clusterset("leave cluster-2 --context cluster-1 --keep-crds --yes");
      await paste(
        clusters,
        `kubectl --context cluster-2 get crd serviceexports.multicluster.x-k8s.io`,
      );
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
