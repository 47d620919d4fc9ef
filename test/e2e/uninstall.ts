import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import type { Clusterset } from "./clusterset.ts";
import { Reader } from "./reader.ts";
import { ownRules, tracesIn } from "./rules.ts";
import { exported, web } from "./web.ts";

const GUIDE = "uninstall.md";
const [HERE, THERE] = ["cluster-1", "cluster-2"] as const;

/** Longer than a kubelet takes on a machine that does other things, too. */
const PATIENCE_MS = 90_000;

/**
 * docs/guides/uninstall.md in a wrong order, on two clusters of two nodes; install.test.ts and hub.test.ts follow its order. cluster-1 and
 * cluster-2 begin with different mistakes, and then continue independently. For each, the tests are steps, in order.
 */
export function uninstalling(stage: () => Clusterset): void {
  describe("leftovers of an uninstallation in another order, and their removal", () => {
    let set: Clusterset;
    before(async () => {
      set = stage();
      // Who is uninstalled has no rights any more, while it ends.
      set.provoke(() => true);
      await Promise.all(
        set.ids.map((cluster) => {
          const shop = { cluster, namespace: "shop", name: "web" };
          return set.shell(`${web(shop)}\n${exported(shop)}`);
        }),
      );
      await untilRules(HERE, "node-2", /"shop\/web:http local cluster-1"/);
      await untilRules(THERE, "node-1", /"shop\/web:http local cluster-2"/);
    });

    test("CRDs first: connections to ClusterSetIPs are rejected, and the other cluster continues without this one", async () => {
      await set.shell(`kubectl --context ${HERE} delete -f deploy/crds`);
      for (const place of ["node-1", "node-2"]) {
        await eventually(async () => {
          const rules = await ownRules(set.clusters.cluster(HERE).node(place));
          assert.doesNotMatch(rules, /shop\/web/);
          // What refuses, stays.
          assert.match(rules, /-j CSP-GUARD/);
        }, PATIENCE_MS);
      }
      await eventually(async () => assert.equal(await slicesOf(HERE, THERE), ""), PATIENCE_MS);
      await untilRules(THERE, "node-1", /"shop\/web:http local cluster-2"/);
    });

    describe("each cluster separately", { concurrency: 2 }, () => {
      describe(HERE, { concurrency: 1 }, () => {
        test("a node without a working kubelet is cleaned manually after its agent has ended", async () => {
          const node = set.clusters.cluster(HERE).node("node-2");
          await node.killKubelet();
          await using reader = new Reader(set.clusters, GUIDE, { node });
          await assert.rejects(reader.follow("By hand: clean"), /An agent is running on this node/);
          assert.match(await ownRules(node), /-j CSP-GUARD/);
          await reader.follow("By hand: stop the agent");
          await reader.follow("By hand: clean");
          await reader.follow("By hand: check");
          node.startKubelet();
        });

        test("without CRDs, the other steps of the guide succeed", async () => {
          // Whoever leaves is called cluster-2 in the guide.
          const adapt = (commands: string) =>
            commands.replaceAll(/cluster-[12]/g, (name) => (name === HERE ? THERE : HERE));
          await using reader = new Reader(set.clusters, GUIDE, { adapt });
          await reader.follow("2. Remove it from the other clusters");
          await reader.follow("3. Delete what was applied");
          await reader.follow("4. Clean the nodes");
          assert.deepEqual(await tracesIn(set.clusters, HERE), []);
        });
      });

      describe(THERE, { concurrency: 1 }, () => {
        test("cleanup that starts before agents end waits for them", async () => {
          await set.shell(`kubectl --context ${THERE} apply -k deploy/cleanup`);
          await eventually(async () => {
            const logs = `kubectl --context ${THERE} -n clusterset-cleanup logs -c cleanup`;
            const said = await set.shell(`${logs} -l app.kubernetes.io/name=clusterset-cleanup`);
            const waiting = said.match(/Another agent programs this node/g) ?? [];
            assert.ok(waiting.length >= 2, said);
          }, PATIENCE_MS);
          for (const place of ["node-1", "node-2"]) {
            assert.match(await ownRules(set.clusters.cluster(THERE).node(place)), /shop\/web/);
          }
        });

        test("the namespace first, while a node is down: the other nodes are cleaned without further steps, and that node after its return", async () => {
          const away = set.clusters.cluster(THERE).node("node-2");
          await away.killKubelet();
          const first = "delete namespace clusterset-proxy --wait=false";
          await set.shell(`kubectl --context ${THERE} ${first}`);
          await eventually(async () => {
            assert.equal(await ownRules(set.clusters.cluster(THERE).node("node-1")), "");
          }, PATIENCE_MS);
          await using reader = new Reader(set.clusters, GUIDE);
          await reader.follow("A node that is down");
          assert.match(await ownRules(away), /shop\/web/);
          away.startKubelet();
          await reader.follow("3. Delete what was applied");
          await reader.follow("4. Clean the nodes");
          assert.deepEqual(await tracesIn(set.clusters, THERE), []);
        });
      });
    });

    async function untilRules(id: string, place: string, rules: RegExp): Promise<void> {
      const node = set.clusters.cluster(id).node(place);
      await eventually(async () => assert.match(await ownRules(node), rules), PATIENCE_MS);
    }

    /** Slices that a cluster has of another's endpoints. */
    async function slicesOf(source: string, id: string): Promise<string> {
      const label = `multicluster.kubernetes.io/source-cluster=${source}`;
      const argv = ["-n", "shop", "get", "endpointslices", "-l", label, "-o", "name"];
      return set.clusters.kubectl(id, argv);
    }
  });
}
