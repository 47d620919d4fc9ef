import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { kubernetesCommand } from "../apiserver/commands.ts";
import type { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { paste, Reader } from "./reader.ts";
import { ownRules, tracesIn } from "./rules.ts";
import { exported, web } from "./web.ts";

const CLUSTER = "cluster-1";
const SERVICE = { cluster: CLUSTER, namespace: "helm", name: "web" };
const VALUES = join(import.meta.dirname, "../..", `${CLUSTER}.values.yaml`);

/** What is left by the guide: objects of users, and what keeps connections alive. */
const LEFT =
  /^(customresourcedefinition|namespace\/clusterset-proxy$|endpointslice|ipaddress|[-:].*CSP-)/;

/** docs/guides/helm.md, by copy and paste, on a cluster with nothing of ours. The tests are one story, in order. */
export function helmCharts(stage: () => Clusters): void {
  describe("the guide for Helm", () => {
    let clusters: Clusters;
    let reader: Reader;
    before(async () => {
      clusters = stage();
      reader = new Reader(clusters, "helm.md");
      await reader.paste(`PATH=${dirname(kubernetesCommand("helm"))}:$PATH`);
    });
    after(async () => {
      rmSync(VALUES, { force: true });
      await reader?.[Symbol.asyncDispose]();
    });

    test("agents and controllers of the charts export and import a Service", async () => {
      const said = await reader.follow("Install");
      assert.match(said, /STATUS: deployed/);
      assert.doesNotMatch(said, /does not serve multicluster|set identity\.cluster/);
      await paste(clusters, `${web(SERVICE)}\n${exported(SERVICE)}`);
      const node = clusters.cluster(CLUSTER).node("node-1");
      await eventually(async () =>
        assert.match(await ownRules(node), /helm\/web\S* local cluster-1/),
      );
    });

    test("an upgrade with the same values restarts no pod", async () => {
      const uids = ["get", "pods", "-o", "jsonpath={.items[*].metadata.uid}"];
      const pods = () => clusters.kubectl(CLUSTER, ["-n", "clusterset-proxy", ...uids]);
      const before = await pods();
      await reader.follow("Upgrade");
      assert.equal(await pods(), before);
    });

    test("uninstalling leaves exports, imports and rules, and no right", async () => {
      await reader.follow("Uninstall");
      assert.deepEqual(reader.left, []);
      const names = ["-n", "helm", "get", "serviceexports,serviceimports", "-o", "name"];
      assert.match(await clusters.kubectl(CLUSTER, names), /serviceexport\S+\/web\n[\s\S]*\/web/);
      const left = await tracesIn(clusters, CLUSTER);
      assert.deepEqual(
        left.filter((line) => !LEFT.test(line)),
        [],
      );
      assert.ok(left.some((line) => line.includes("helm/web")));
    });
  });
}
