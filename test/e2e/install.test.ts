import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import { Clusters } from "../cluster/clusters.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { deniedIn, oursIn } from "./denied.ts";
import { blocksOf, blockWith } from "./guide.ts";
import { productImages } from "./images.ts";
import { Reader } from "./reader.ts";
import { differences, type NodeRules, rulesOfNodes, tracesIn } from "./rules.ts";

// docs/guides/install.md and uninstall.md, by copy and paste, on two clusters of two nodes. The tests are one story, in order.

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
      const pods = await podsOf(cluster, "clusterset-proxy");
      const places = (app: string) =>
        pods.filter(([name = ""]) => name.startsWith(app)).map(([, node = ""]) => node);
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
    const servers = (await podsOf(THERE, "shop")).map(([name = ""]) => name);
    const answers = said.split("\n").filter((line) => servers.includes(line));
    // By the address and by the name; before, by the address until one is answered.
    assert.ok(answers.length >= 3, said);
    for (const [node, rules] of await rulesOfNodes(clusters)) {
      const tier = node.startsWith(HERE) ? "global" : "local";
      assert.match([...rules].join("\n"), new RegExp(`"shop/web:?\\S* ${tier} ${THERE}"`), node);
    }
  });

  test("no request of agents, controllers or peers was denied", () => {
    for (const { id, plane } of clusters.all) {
      const peer = id === HERE ? THERE : HERE;
      const own = ["agent", "controller"].map((name) => `clusterset-proxy:clusterset-${name}`);
      const users = [...own, `clusterset-registry-${id}:${peer}`];
      const accounts = users.map((name) => `system:serviceaccount:${name}`);
      assert.deepEqual([...oursIn(plane.auditFile)].sort(), accounts);
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
    for (const id of [HERE, THERE]) assert.deepEqual(await tracesIn(clusters, id), []);
    // kube-proxy's rules of these Services are to go, too.
    const argv = ["delete", "namespace", "shop"];
    await Promise.all([HERE, THERE].map((cluster) => clusters.kubectl(cluster, argv)));
    // kube-proxy follows the end of our Services in its own time.
    await eventually(async () => {
      assert.deepEqual(differences(untouched, await rulesOfNodes(clusters)), []);
    }, 30_000);
  });

  async function podsOf(cluster: string, namespace: string) {
    const pods = await clusters.cluster(cluster).admin.list(manifest("Pod", `${namespace}/any`));
    return pods.map((pod) => [pod.metadata.name, String(fieldAt(pod, "spec", "nodeName"))]);
  }
});
