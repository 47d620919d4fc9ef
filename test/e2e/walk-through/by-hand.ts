import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../stages/agent-process.ts";
import type { Reader } from "../reader.ts";
import { differences, type NodeRules, rulesOfNodes } from "../rules.ts";
import { Client } from "./client.ts";
import { PATIENCE_MS, parts, readerOf, unread } from "./follow.ts";
import { Seen } from "./seen.ts";

const [OURS, THEIRS] = ["cluster-1", "cluster-2"] as const;
const BOTH = [OURS, THEIRS] as const;

/** The demo of kubernetes-sigs/mcs-api, with agents only: "By hand" of the guide. */
export function byHand(clusters: () => Clusters): void {
  const seen = () => new Seen(clusters(), "demo");
  const client = (cluster: string) => new Client(clusters(), cluster, "demo");

  describe("by hand: a user with kubectl instead of a controller", () => {
    const test = parts();
    let reader: Reader;
    let untouched: NodeRules;
    before(async () => {
      reader = readerOf(clusters());
      untouched = await rulesOfNodes(clusters());
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("agents roll out alone, with the right to read, and need no word about who the clusters are", async () => {
      await reader.follow("Install the agents");
      for (const id of BOTH) {
        const ours = await seen().names(id, "deployments,serviceaccounts,roles,clusterroles", "-A");
        assert.deepEqual(
          ours.filter((name) => /clusterset/.test(name)),
          [
            "clusterrole.rbac.authorization.k8s.io/clusterset-agent",
            ...(id === OURS ? ["clusterrole.rbac.authorization.k8s.io/clusterset-coredns"] : []),
            "serviceaccount/clusterset-agent",
          ],
        );
      }
    });

    test("before, a name of the cluster is answered by its own pods, and the clusterset has no such name", async () => {
      await reader.follow("Create a Service in each cluster");
      await untilOwnAnswer();
      assert.deepEqual(await client(OURS).lookup("A", "serve.demo.svc.clusterset.local"), []);
    });

    test("slices with one label and an import with an address are all it takes: pods of both clusters answer in both, half of the calls each", async () => {
      const own = await ownObjects();
      await reader.follow("Copy slices and create imports");
      await untilAllAnswer("241.0.0.10", "serve.demo.svc.clusterset.local");
      const calls = await client(OURS).calls("http://241.0.0.10", 60);
      const first = calls.filter(({ name }) => name === calls[0]?.name);
      // Outside of this once in 10⁷ runs.
      assert.ok(first.length > 9 && first.length < 51, `${first.length} of 60 by one of two`);
      const address = await seen().field(OURS, "pod/client", ".status.podIP");
      for (const { source } of calls) assert.equal(source, address);
      // Services, and names of the cluster, are none of our business.
      assert.deepEqual(await ownObjects(), own);
      await untilOwnAnswer();
    });

    test("an address of a person's own choice is refused at once while nobody is behind it, and answered by all then", async () => {
      await reader.follow("A VIP without endpoints");
      await untilAllAnswer("1.2.3.4", "serve-with-vip.demo.svc.clusterset.local");
      for (const id of BOTH) {
        assert.equal(await seen().vip(id, "serve-with-vip"), "1.2.3.4");
        // The other import has lost its slices.
        assert.equal((await client(id).calls("http://241.0.0.10", 1))[0]?.error, "refused");
      }
    });

    test("a port whose name no slice has is refused at once, and the agents' log and one grep on a node say why", async () => {
      await reader.follow("A port without endpoints");
      assert.equal((await client(OURS).calls("http://1.2.3.4", 1))[0]?.error, "refused");
    });

    test("deleted imports take their rules along, and after uninstalling a cluster is as it was", async () => {
      await reader.follow("Clean up");
      assert.deepEqual(unread(reader, "By hand"), []);
      await eventually(
        async () => assert.deepEqual(await seen().rules(OURS, "demo/"), []),
        PATIENCE_MS,
      );
      const left = await seen().names(THEIRS, "crds,clusterroles,namespaces,serviceaccounts", "-A");
      assert.doesNotMatch(left.join(" "), /clusterset|multicluster|about\.k8s\.io/);
      // kube-proxy's rules have changed by the Services of this story.
      const changes = differences(untouched, await rulesOfNodes(clusters()));
      const ours = changes.filter((line) => line.startsWith(THEIRS) && !line.includes("KUBE-"));
      assert.deepEqual(ours, []);
    });

    /** `cluster.local` is each cluster's own. A pod without a probe is ready before it listens. */
    async function untilOwnAnswer(): Promise<void> {
      for (const id of BOTH) {
        const { names } = await seen().pods(id, "serve");
        await eventually(async () => {
          const answered = await client(id).answeredBy("http://serve.demo.svc.cluster.local");
          assert.deepEqual(answered, names);
        }, PATIENCE_MS);
      }
    }

    /** Pods of both clusters answer at an address in both, and by a name where there are names. */
    async function untilAllAnswer(address: string, name: string): Promise<void> {
      const pods = await Promise.all(BOTH.map((id) => seen().pods(id, "serve")));
      const everybody = pods.flatMap(({ names }) => names).sort();
      const ways = [
        [OURS, address],
        [OURS, name],
        [THEIRS, address],
      ] as const;
      for (const [id, host] of ways) {
        await eventually(async () => {
          assert.deepEqual(await client(id).answeredBy(`http://${host}`), everybody);
        }, PATIENCE_MS);
      }
    }

    /** The Services of the clusters and their own slices, as they are down to their versions. */
    function ownObjects(): Promise<unknown[]> {
      const mine = ["services,endpointslices", "-l", "app=serve"];
      return Promise.all(BOTH.map((id) => seen().get(id, ...mine)));
    }
  });
}
