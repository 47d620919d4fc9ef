import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { productImages } from "./images.ts";
import { paste, Reader } from "./reader.ts";
import { ownRules, tracesIn } from "./traces.ts";
import { exported, web } from "./web.ts";

// docs/guides/helm.md, by copy and paste, on one cluster. The tests are one story, in order.

const CLUSTER = "cluster-1";
const VALUES = join(import.meta.dirname, "../..", `${CLUSTER}.values.yaml`);

/** What is left by the guide: objects of users, and what keeps connections alive. */
const LEFT =
  /^(customresourcedefinition|namespace\/clusterset-proxy$|endpointslice|ipaddress|[-:].*CSP-)/;

describe("the guide for Helm", () => {
  let clusters: Clusters;
  let reader: Reader;
  before(async () => {
    const images = await productImages();
    clusters = await Clusters.create({ clusters: 1, nodes: 1, regions: ["eu-west"], images });
    reader = new Reader(clusters, "helm.md");
    await reader.paste(`PATH=${dirname(kubernetesCommand("helm"))}:$PATH`);
  });
  after(async () => {
    rmSync(VALUES, { force: true });
    await reader?.[Symbol.asyncDispose]();
    await clusters?.remove();
  });

  async function podsOf(): Promise<string> {
    const uids = "jsonpath={.items[*].metadata.uid}";
    return clusters.kubectl(CLUSTER, ["-n", "clusterset-proxy", "get", "pods", "-o", uids]);
  }

  test("agents and controllers of the charts export and import a Service", async () => {
    const said = await reader.follow("Install");
    assert.match(said, /STATUS: deployed/);
    assert.doesNotMatch(said, /does not serve multicluster|set identity\.cluster/);
    const shop = { cluster: CLUSTER, namespace: "shop", name: "web" };
    await paste(clusters, `${web(shop)}\n${exported(shop)}`);
    const { nodes } = clusters.cluster(CLUSTER);
    await eventually(async () => {
      for (const node of nodes) assert.match(await ownRules(node), /shop\/web\S* local cluster-1/);
    }, 60_000);
  });

  test("an upgrade with the same values restarts no pod", async () => {
    const pods = await podsOf();
    await reader.follow("Upgrade");
    assert.equal(await podsOf(), pods);
  });

  test("uninstalling leaves exports, imports and rules, and no right", async () => {
    await reader.follow("Uninstall");
    assert.deepEqual(reader.left, []);
    const names = ["-n", "shop", "get", "serviceexports,serviceimports", "-o", "name"];
    assert.match(await clusters.kubectl(CLUSTER, names), /serviceexport\S+\/web\n[\s\S]*\/web/);
    const left = await tracesIn(clusters, CLUSTER);
    assert.deepEqual(
      left.filter((line) => !LEFT.test(line)),
      [],
    );
    assert.ok(left.some((line) => line.includes("shop/web")));
  });
});
