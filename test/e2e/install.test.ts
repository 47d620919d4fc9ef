import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Clusters } from "../cluster/clusters.ts";
import { type ForeignObject, foreignObjects } from "../migrations/read-objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertHeld, assertNoneFailed, Caller } from "./caller.ts";
import { deniedIn, oursIn } from "./denied.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { blocksOf, blockWith } from "./guide.ts";
import { productImages } from "./images.ts";
import { paste, Reader } from "./reader.ts";
import { differences, type NodeRules, rulesOfNodes, tracesIn } from "./rules.ts";
import { web } from "./web.ts";

// docs/guides/install.md and uninstall.md, by copy and paste, on two clusters of two nodes. The tests are one story, in order. When nothing is
// left, users of other implementations come to the same clusters.

const [EXPORTER, IMPORTER] = ["cluster-1", "cluster-2"] as const;
/** What cluster-1 serves, and the file with what cluster-2 has of it. */
const SERVICES = {
  karmada: { namespace: "shop", name: "web" },
  "cloud-map": { namespace: "demo", name: "nginx-hello" },
} as const;
type Source = keyof typeof SERVICES;
const BY = { karmada: /^web-/, "cloud-map": /^nginx-hello-/ } as const;

const JOIN = `kubectl clusterset join cluster-1 cluster-2 --clusterset clusterset1 --yes --force-conflicts \
  --api-server cluster-1=https://172.20.1.11:6443 --api-server cluster-2=https://172.20.2.11:6443`;
/** What Cloud Map's controller adds to exports. */
const FINALIZER = "multicluster.k8s.aws/service-export-finalizer";
/** Longer than CoreDNS and clients keep an address of the clusterset: twice 5 s. */
const TTL_MS = 12_000;
/** The same of the cluster's own names: 30 s. */
const OWN_TTL_MS = 31_000;

/**
 * docs/guides/migrate-karmada.md and migrate-cloud-map.md, block by block, with connections, on two clusters without anything of ours.
 * cluster-1 has the pods, and cluster-2 what Karmada and Cloud Map write into an importing cluster (test/migrations), with the addresses of
 * these pods: kube-proxy serves it. Pods of cluster-2 call all the time. Nothing of Karmada and Cloud Map runs, as the guides require it from
 * some step on.
 */
function migrations(stage: () => Clusters): void {
  describe("a cluster that imports by Karmada and by Cloud Map moves here, while its pods call", () => {
    let clusters: Clusters;
    const callers = new Map<string, Caller>();
    /** When the calls by Karmada's name ended. */
    let stopped = 0;
    before(async () => {
      clusters = stage();
      await paste(
        clusters,
        `for cluster in ${EXPORTER} ${IMPORTER}; do
    kubectl --context $cluster apply --server-side -k deploy/crds
    kubectl --context $cluster wait --for=condition=Established --timeout=60s crd --all
    kubectl --context $cluster create namespace cloud-map-mcs-system
    kubectl --context $cluster -n cloud-map-mcs-system create deployment cloud-map-mcs-controller-manager --image=lab.local/probe:1
  done
  kubectl --context ${IMPORTER} apply -k deploy/coredns
  deploy/coredns/names add ${IMPORTER}`,
      );
      for (const source of ["karmada", "cloud-map"] as const) await serve(source);
      await call("old name", "shop", "derived-web.shop.svc.cluster.local");
      await call("cloud map", "demo", "nginx-hello.demo.svc.clusterset.local");
      await untilAnswered(those("old name"), BY.karmada);
      await untilAnswered(those("cloud map"), BY["cloud-map"]);
    });

    test("a join changes nothing for clients", async (t) => {
      await answered(t, "joined", "old name", BY.karmada, () =>
        answered(t, "joined", "cloud map", BY["cloud-map"], () => paste(clusters, JOIN)),
      );
    });

    test("Karmada: clients move to the clusterset's name, and then the old name becomes an alias", async (t) => {
      await using reader = new Reader(clusters, "migrate-karmada.md");
      await reader.follow("Side by side");
      await reader.paste(
        `kubectl --context ${IMPORTER} -n shop wait --for=jsonpath='{.status.clusters[0].cluster}'=${EXPORTER} --timeout=60s serviceimport/web`,
      );
      await call("new name", "shop", "web.shop.svc.clusterset.local");
      await untilAnswered(those("new name"), BY.karmada);
      await stop("old name");
      stopped = performance.now();
      await answered(t, "alias", "new name", BY.karmada, () =>
        reader.follow("Lead the old name here"),
      );
    });

    test("Cloud Map: imports get their own addresses and what was left behind goes, and no call fails", async (t) => {
      await using reader = new Reader(clusters, "migrate-cloud-map.md");
      const held = await Caller.start(
        { clusters },
        {
          ...{ cluster: IMPORTER, namespace: "demo", name: "held", hold: true },
          target: "http://nginx-hello.demo.svc.clusterset.local",
        },
      );
      await untilAnswered([held], BY["cloud-map"]);
      await reader.follow("Stop Cloud Map");
      await answered(t, "switched", "cloud map", BY["cloud-map"], () =>
        reader.follow("Give the imports their new addresses"),
      );
      await sleep(TTL_MS);
      // The connection by the old address stays.
      assertHeld(await held.calls(), BY["cloud-map"]);
      await answered(t, "deleted", "cloud map", BY["cloud-map"], () =>
        reader.follow("Delete what is left behind"),
      );
      await sleep(TTL_MS);
      await stop("cloud map");
    });

    test("Karmada: the old name leads here, until it is deleted, and no call by the other one fails", async (t) => {
      await using reader = new Reader(clusters, "migrate-karmada.md");
      await sleep(Math.max(0, stopped + OWN_TTL_MS - performance.now()));
      await call("alias", "shop", "derived-web.shop.svc.cluster.local");
      await untilAnswered(those("alias"), BY.karmada);
      await stop("alias");
      await answered(t, "without the alias", "new name", BY.karmada, () =>
        reader.follow("Without the alias"),
      );
      await stop("new name");
    });

    /** Pods in cluster-1, exported, and in cluster-2 what the other implementation makes of them. */
    async function serve(source: Source): Promise<void> {
      const { namespace, name } = SERVICES[source];
      const own = ["-n", namespace];
      await paste(clusters, web({ cluster: EXPORTER, namespace, name }));
      if (source === "cloud-map") {
        const nameless = '[{"op":"remove","path":"/spec/ports/0/name"}]';
        const patch = ["patch", "service", name, "--type=json", "-p", nameless];
        await clusters.kubectl(EXPORTER, [...own, ...patch]);
      }
      await apply(EXPORTER, {
        ...{ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" },
        metadata: { namespace, name, ...(source === "cloud-map" && { finalizers: [FINALIZER] }) },
      });
      const pods = ["get", "pods", "-l", `app=${name}`, "-o", "jsonpath={.items[0].status.podIP}"];
      const address = await clusters.kubectl(EXPORTER, [...own, ...pods]);
      await clusters.kubectl(IMPORTER, ["create", "namespace", namespace]);
      const uids = new Map<string, string>();
      for (const object of foreignObjects(`${source}.yaml`)) {
        const { kind, metadata, spec } = await apply(IMPORTER, placed(object, address, uids));
        uids.set(metadata.name, metadata.uid);
        // The import was created before the Service that has its address.
        if (source === "cloud-map" && kind === "Service") {
          const patch = JSON.stringify({ spec: { ips: [spec.clusterIP] } });
          const change = ["patch", "serviceimport", name, "--type=merge", "-p", patch];
          await clusters.kubectl(IMPORTER, [...own, ...change]);
        }
      }
    }

    async function apply(cluster: string, object: object) {
      const stdin = JSON.stringify(object);
      const args = ["apply", "--server-side", "-o", "json", "-f", "-"];
      return JSON.parse(await clusters.kubectl(cluster, args, { stdin }));
    }

    async function call(what: string, namespace: string, host: string): Promise<void> {
      const name = what.replace(" ", "-");
      const options = { cluster: IMPORTER, namespace, name, target: `http://${host}` };
      // A busy machine can block for seconds.
      callers.set(what, await Caller.start({ clusters }, { ...options, timeoutMs: 20_000 }));
    }

    function those(what: string): Caller[] {
      return [callers.get(what) ?? []].flat();
    }

    /** Does something, after which these calls get responses of that pod only; none fails meanwhile. */
    async function answered(
      t: TestContext,
      what: string,
      calls: string,
      by: RegExp,
      act: () => Promise<unknown>,
    ): Promise<void> {
      const { failed } = await effectOf(t, `${what}, ${calls}`, those(calls), by, act);
      assert.deepEqual(failed, {}, what);
    }

    /** Ends calls, of which none has failed since they began. */
    async function stop(what: string): Promise<void> {
      for (const caller of those(what)) {
        assertNoneFailed(await caller.stop(), what);
      }
      callers.delete(what);
    }
  });
}

/** The object with the UIDs of its owners, and with this endpoint of the lab's server. */
function placed(object: ForeignObject, address: string, uids: ReadonlyMap<string, string>): object {
  const { ownerReferences } = object.metadata;
  const owners = ownerReferences?.map((one) => ({ ...one, uid: uids.get(one.name) }));
  const metadata = { ...object.metadata, ...(owners && { ownerReferences: owners }) };
  if (object.kind !== "EndpointSlice") return { ...object, metadata };
  const { ports } = object as ForeignObject & { readonly ports: readonly object[] };
  return {
    ...{ ...object, metadata },
    ports: ports.map((port) => ({ ...port, port: 8080 })),
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
}

const [HERE, THERE] = ["cluster-1", "cluster-2"] as const;

let clusters: Clusters;
after(() => clusters?.remove());

describe("the guides for installing and uninstalling", () => {
  let reader: Reader;
  let untouched: NodeRules;
  before(async () => {
    const images = await productImages();
    const regions = ["eu-west", "us-east"];
    clusters = await Clusters.create({ clusters: 2, nodes: 2, regions, images });
    // kube-proxy's rules are final once they contain DNS.
    untouched = await eventually(async () => {
      const rules = await rulesOfNodes(clusters);
      for (const of of rules.values()) assert.match([...of].join("\n"), /kube-dns:metrics -> /);
      return rules;
    }, 30_000);
    reader = new Reader(clusters, "install.md");
  });
  after(() => reader?.[Symbol.asyncDispose]());

  test("an agent runs on every node, with two controllers, and they have only the rights of the manifests", async () => {
    await reader.paste(blockWith("mesh-or-hub.md", "registry_kubeconfig()"));
    const said = await reader.follow("Install by hand");
    assert.match(said, /daemon set "clusterset-agent" successfully rolled out/);
    for (const cluster of [HERE, THERE]) {
      const pods = await podsOf(cluster);
      const places = (app: string) =>
        pods.filter(({ name }) => name.startsWith(app)).map(({ node }) => node);
      const nodes = clusters.cluster(cluster).nodes.map(({ name }) => name);
      assert.deepEqual(places("clusterset-agent").sort(), nodes);
      // Apart, as there is room.
      assert.deepEqual(places("clusterset-controller").sort(), nodes);
    }
  });

  test("a pod gets responses from pods of the other cluster at the import's address", async () => {
    const said = await reader.follow("Try it");
    // The other way: join.ts.
    assert.deepEqual(reader.left, blocksOf("install.md", "Install"));
    // Three by the address, one by the name, and those that were made until one was answered.
    const answers = said.split("\n").filter((line) => line.includes('"name"'));
    assert.ok(answers.length >= 5, said);
    const servers = JSON.parse(
      await clusters.kubectl(THERE, ["-n", "shop", "get", "pods", "-l", "app=web", "-o", "json"]),
    ).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    for (const line of answers) assert.ok(servers.includes(JSON.parse(line).name), line);
    for (const [node, rules] of await rulesOfNodes(clusters)) {
      const tier = node.startsWith(HERE) ? "global" : "local";
      assert.match([...rules].join("\n"), new RegExp(`"shop/web:?\\S* ${tier} ${THERE}"`), node);
    }
  });

  test("no request of agents, controllers or peers was denied", () => {
    for (const { id, plane } of clusters.all) {
      const peer = id === HERE ? THERE : HERE;
      assert.deepEqual(
        [...oursIn(plane.auditFile)].sort(),
        [
          "clusterset-proxy:clusterset-agent",
          "clusterset-proxy:clusterset-controller",
          `clusterset-registry-${id}:${peer}`,
        ].map((name) => `system:serviceaccount:${name}`),
      );
      assert.deepEqual(deniedIn(plane.auditFile), []);
    }
  });

  test("after an uninstallation as in the guide, nodes have the rules that they had before", async () => {
    // The last one goes the same way, and beside the other.
    await using there = new Reader(clusters, "uninstall.md");
    await using here = new Reader(clusters, "uninstall.md", {
      adapt: (commands) => commands.replaceAll(THERE, HERE),
    });
    await there.follow("1. Withdraw the exports");
    await there.follow("2. Remove it from the other clusters");
    await Promise.all(
      [there, here].map(async (one) => {
        await one.follow("3. Delete what was applied");
        await one.follow("4. Clean the nodes");
      }),
    );
    for (const cluster of [HERE, THERE]) {
      assert.deepEqual(await tracesIn(clusters, cluster), []);
    }
    // kube-proxy's rules of these Services are to go, too.
    const gone = [HERE, THERE].map((cluster) =>
      clusters.kubectl(cluster, ["delete", "namespace", "shop"]),
    );
    await Promise.all(gone);
    // kube-proxy follows the end of our Services in its own time.
    await eventually(async () => {
      assert.deepEqual(differences(untouched, await rulesOfNodes(clusters)), []);
    }, 30_000);
  });

  async function podsOf(cluster: string): Promise<{ name: string; node: string }[]> {
    const argv = ["-n", "clusterset-proxy", "get", "pods", "-o", "json"];
    const { items } = JSON.parse(await clusters.kubectl(cluster, argv));
    return items.map((pod: { metadata: { name: string }; spec: { nodeName: string } }) => ({
      name: pod.metadata.name,
      node: pod.spec.nodeName,
    }));
  }
});

migrations(() => clusters);
