import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../support/agent-process.ts";
import { blocksOf, functionOf } from "../guide.ts";
import { paste } from "../person.ts";
import { differences, type NodeRules, rulesOfNodes } from "../rules.ts";
import { Client } from "./client.ts";
import { Seen } from "./seen.ts";

const GUIDE = "walk-throughs.md";
const [OURS, THEIRS] = ["cluster-1", "cluster-2"] as const;
const BOTH = [OURS, THEIRS] as const;

/** How long kube-proxy, kubelets and DNS may take to follow. */
const PATIENCE_MS = 60_000;

/** The demo of kubernetes-sigs/mcs-api, with agents only: "By hand" of the guide, one block after the other. */
export function byHand(clusters: () => Clusters): void {
  const [
    install = "",
    names = "",
    services = "",
    copies = "",
    look = "",
    withVip = "",
    misname = "",
    end = "",
    ...more
  ] = blocksOf(GUIDE, "By hand");
  const person = (commands: string) => paste(clusters(), commands);
  const seen = () => new Seen(clusters(), "demo");
  const client = (cluster: string) => new Client(clusters(), cluster, "demo");

  describe("by hand: a person with kubectl in the place of a controller", () => {
    let before: NodeRules;

    test("agents roll out alone, with the right to read, and need no word about who the clusters are", async () => {
      assert.deepEqual(more, []);
      before = await rulesOfNodes(clusters());
      await person(`${install}\n${names}`);
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
      await person(services);
      for (const id of BOTH) {
        const { names } = await seen().pods(id, "serve");
        // A pod without a probe is ready before it listens.
        await eventually(async () => {
          const answered = await client(id).answeredBy("http://serve.demo.svc.cluster.local");
          assert.deepEqual(answered, names);
        }, PATIENCE_MS);
      }
      assert.deepEqual(await client(OURS).lookup("A", "serve.demo.svc.clusterset.local"), []);
    });

    test("slices with one label and an import with an address are all it takes: pods of both clusters answer in both", async () => {
      const own = await ownObjects();
      await person(copies);
      // CoreDNS remembers for some seconds that there was no such name.
      await eventually(async () => {
        const addresses = await client(OURS).lookup("A", "serve.demo.svc.clusterset.local");
        assert.deepEqual(addresses, ["241.0.0.10"]);
      }, PATIENCE_MS);
      await untilAllAnswer("241.0.0.10", "serve.demo.svc.clusterset.local");
      for (const id of BOTH) {
        // Nobody is nearer: of a slice that does not say where it comes from, one cluster is as good as another.
        const rules = await seen().rules(id, "demo/serve");
        assert.equal(rules.filter((rule) => / global .*DNAT/.test(rule)).length, 2);
      }
      const calls = await client(OURS).calls("http://241.0.0.10", 60);
      const first = calls.filter(({ name }) => name === calls[0]?.name);
      // Half of them, but for one run in 10⁷.
      assert.ok(first.length > 9 && first.length < 51, `${first.length} of 60 by one of two`);
      assert.deepEqual(await ownObjects(), own);
    });

    test("the imports are listed with their addresses, and the pod that answers sees who calls", async () => {
      const said = await person(look);
      assert.match(said, /^NAME +TYPE +IP +AGE\nserve +ClusterSetIP +\["241\.0\.0\.10"\] +\d/);
      assert.match(said, /\nserve-with-vip +ClusterSetIP +\["1\.2\.3\.4"\] +\d/);
      assert.match(said, /"total":4,"answered":4,/);
      const caller = await seen().field(OURS, "pod/client", ".status.podIP");
      for (const [, source] of said.matchAll(/"source":"([^"]*)"/g)) assert.equal(source, caller);
    });

    test("names of the cluster are answered by the cluster alone, as before", async () => {
      for (const id of BOTH) {
        const { names } = await seen().pods(id, "serve");
        assert.deepEqual(await client(id).answeredBy("http://serve.demo.svc.cluster.local"), names);
      }
    });

    test("an address of a person's own choice is refused at once while nobody is behind it, and answered by all then", async () => {
      for (const host of ["1.2.3.4", "serve-with-vip.demo.svc.clusterset.local"]) {
        const calls = await client(OURS).calls(`http://${host}`, 5);
        // Not after a timeout.
        assert.deepEqual(
          calls.map(({ error }) => error),
          Array(5).fill("refused"),
        );
      }
      await person(`${functionOf(GUIDE, "copy")}\n${withVip}`);
      await untilAllAnswer("1.2.3.4", "serve-with-vip.demo.svc.clusterset.local");
      for (const id of BOTH) {
        assert.equal(await seen().vip(id, "serve-with-vip"), "1.2.3.4");
        // The other import has lost its slices.
        const [call] = await client(id).calls("http://241.0.0.10", 1);
        assert.equal(call?.error, "refused");
      }
    });

    test("a port whose name no slice has is refused at once, and the agents' log and one grep on a node say why", async () => {
      await person(misname);
      await eventually(async () => {
        const agents = ["-n", "clusterset-proxy", "-l", "app.kubernetes.io/name=clusterset-agent"];
        const log = await seen().kubectl(OURS, "logs", ...agents);
        const lines = log.split("\n").filter((line) => line.includes('"excluded"'));
        assert.match(lines.at(-1) ?? "", /"demo\/serve-with-vip:web".*\["port-not-exposed"\]/);
      }, PATIENCE_MS);
      const rules = await seen().rules(OURS, "demo/serve-with-vip:web");
      assert.match(rules.join("\n"), /^-A CSP-EXPLICIT .*no-endpoint" -j \w+$/);
      assert.equal((await client(OURS).calls("http://1.2.3.4", 1))[0]?.error, "refused");
    });

    test("deleted imports take their rules along, and after uninstalling a cluster is as it was", async () => {
      await person(end);
      await eventually(
        async () => assert.deepEqual(await seen().rules(OURS, "demo/"), []),
        PATIENCE_MS,
      );
      const left = await seen().names(THEIRS, "crds,clusterroles,namespaces,serviceaccounts", "-A");
      assert.doesNotMatch(left.join(" "), /clusterset|multicluster|about\.k8s\.io/);
      // kube-proxy's rules have changed by the Services of this story.
      const changes = differences(before, await rulesOfNodes(clusters()));
      const ours = changes.filter((line) => line.startsWith(THEIRS) && !line.includes("KUBE-"));
      assert.deepEqual(ours, []);
    });

    /** Pods of both clusters answer at an address in both, and by a name where there are names. */
    async function untilAllAnswer(address: string, name: string): Promise<void> {
      const pods = await Promise.all(BOTH.map((id) => seen().pods(id, "serve")));
      const everybody = pods.flatMap(({ names }) => names).sort();
      for (const [id, host] of [
        [OURS, address],
        [OURS, name],
        [THEIRS, address],
      ] as const) {
        await eventually(async () => {
          assert.deepEqual(await client(id).answeredBy(`http://${host}`), everybody);
        }, PATIENCE_MS);
      }
    }

    /** The Services of the clusters and their own slices, as they are down to their versions. */
    function ownObjects(): Promise<unknown[]> {
      const mine = ["services,endpointslices", "-l", "app=serve"];
      return Promise.all(BOTH.map((id) => seen().get<{ items: unknown }>(id, ...mine)));
    }
  });
}
