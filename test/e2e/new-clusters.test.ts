import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertNoneFailed, Caller } from "./caller.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { blockWith, functionOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { lifeWithPlugin } from "./join.ts";
import type { Reader } from "./reader.ts";
import { differences, type NodeRules, rulesOfNodes, tracesIn } from "./rules.ts";
import { Client, GUIDE, readerOf, Seen, TIMEOUT_MS, unread } from "./seen.ts";

// Stories of two clusters that begin without anything of ours, told one after the other on the same ones: a life with
// `kubectl clusterset`, which leaves nothing, and the part of docs/guides/walk-throughs.md where a person writes imports and slices.

const [OURS, THEIRS] = ["cluster-1", "cluster-2"] as const;

/** The demo of kubernetes-sigs/mcs-api, with agents only: "By hand" of the guide. */
function byHand(clusters: () => Clusters): void {
  describe("by hand: a user with kubectl instead of a controller", () => {
    let reader: Reader;
    let seen: Seen;
    let untouched: NodeRules;
    before(async () => {
      reader = readerOf(clusters());
      seen = new Seen(clusters(), "demo");
      untouched = await rulesOfNodes(clusters());
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("slices with one label and an import with an address are all it takes: pods of both clusters answer in both", async () => {
      await reader.follow("Install the agents");
      await reader.follow("Create a Service in each cluster");
      await reader.follow("Copy slices and create imports");
      await untilAllAnswer("241.0.0.10", "serve.demo.svc.clusterset.local");
    });

    test("an address of a person's own choice is refused at once while nobody is behind it, and answered by all then", async () => {
      await reader.follow("A VIP without endpoints");
      await untilAllAnswer("1.2.3.4", "serve-with-vip.demo.svc.clusterset.local");
    });

    test("a port whose name no slice has is refused, and the agents' log and one grep on a node say why", async () => {
      await reader.follow("A port without endpoints");
    });

    test("deleted imports take their rules along, and after uninstalling a cluster is as it was", async () => {
      await reader.follow("Clean up");
      assert.deepEqual(unread(reader, "By hand"), []);
      await eventually(async () => assert.deepEqual(await seen.rules(OURS), []));
      assert.deepEqual(await tracesIn(clusters(), THEIRS), []);
      // kube-proxy's rules have changed by the Services of this story.
      const changes = differences(untouched, await rulesOfNodes(clusters()));
      const ours = changes.filter((line) => line.startsWith(THEIRS) && !line.includes("KUBE-"));
      assert.deepEqual(ours, []);
    });

    /** Pods of both clusters answer at an address in both, and by a name where there are names. */
    async function untilAllAnswer(address: string, name: string): Promise<void> {
      const pods = [...(await seen.pods(OURS, "serve")), ...(await seen.pods(THEIRS, "serve"))];
      for (const [id, host] of [
        [OURS, address],
        [OURS, name],
        [THEIRS, address],
      ] as const) {
        await new Client(clusters(), id, "demo").untilAnsweredBy(pods.sort(), `http://${host}`);
      }
    }
  });
}

const [OLD, NEW] = ["cluster-1", "cluster-2"] as const;

const CALLER = {
  ...{ cluster: OLD, namespace: "moving", name: "caller", timeoutMs: TIMEOUT_MS },
  target: "http://serve.moving.svc.clusterset.local",
} as const;

/** From an old cluster to a new one, which at first has nothing of ours: "Migration" of the guide. */
function migration(clusters: () => Clusters): void {
  const seen = () => new Seen(clusters(), "moving");
  const product = () => new Seen(clusters(), "clusterset-proxy");

  describe("migration: an old cluster with the product, a new one without", () => {
    let reader: Reader;
    let vip: string;
    let caller: Caller;
    /** What clusters denied in an earlier story does not count. */
    let began = 0;
    before(async () => {
      began = Date.now();
      reader = readerOf(clusters());
      const pasted = ["identity", "introduce"].map((name) => functionOf("install.md", name));
      await reader.paste(pasted.join("\n"));
      await reader.paste(blockWith("mesh-or-hub.md", "registry_kubeconfig()"));
      await reader.paste(functionOf(GUIDE, "copy"));
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("controllers that do not know who their cluster is say so, and are not ready", async () => {
      await reader.follow("Install in the old cluster");
      const label = ["-l", "app.kubernetes.io/name=clusterset-controller"];
      await eventually(async () => {
        const logs = await product().kubectl(OLD, "logs", ...label, "--prefix");
        const sayers = new Set(logs.match(/^\[pod\/\S+(?=.*"identity-missing")/gm));
        assert.equal(sayers.size, 2, logs);
      });
      const ready = ".status.readyReplicas";
      assert.equal(await product().field(OLD, "deployment/clusterset-controller", ready), "");
    });

    test("an import by hand gets an address, and pods of both clusters answer in the old one; the new one has nothing of ours", async () => {
      await reader.follow("Set the old cluster's identity");
      await reader.follow("Send half of the connections to the new cluster");
      vip = await seen().vip(OLD, "serve");
      const pods = [...(await podsOf(OLD)), ...(await podsOf(NEW))];
      await eventually(async () => {
        const rules = await seen().rules(OLD);
        assert.equal(rules.filter((rule) => rule.includes("DNAT")).length, pods.length);
      });
      caller = await Caller.start({ clusters: clusters() }, CALLER);
      await untilAnsweredBy(pods);
      assert.deepEqual(await tracesIn(clusters(), NEW), []);
    });

    test("the new cluster joins, and what was copied by hand becomes an import of what both export, with the same address", async () => {
      await reader.follow("Add the new cluster");
      await reader.follow("Export from both clusters");
      assert.equal(await seen().vip(OLD, "serve"), vip);
      await untilAnsweredBy([...(await podsOf(OLD)), ...(await podsOf(NEW))]);
    });

    test("the old cluster's pods go, the new one's have everything, and of all calls since the first none has failed", async () => {
      await reader.follow("Scale the old cluster to zero");
      await untilAnsweredBy(await podsOf(NEW));
      assertNoneFailed(await caller.stop());
      assert.deepEqual(unread(reader, "Migration"), []);
      for (const { plane } of clusters().all) {
        assertNone(deniedIn(plane.auditFile, (at) => at < began || plane.wasStarting(at)));
      }
    });

    async function podsOf(cluster: string): Promise<string[]> {
      return seen().pods(cluster, "serve");
    }

    function untilAnsweredBy(pods: readonly string[]): Promise<void> {
      return caller.untilAnsweredBy(async () => pods);
    }
  });
}

let clusters: Clusters;
before(async () => {
  clusters = await Clusters.create({ clusters: 2, images: await productImages() });
});
after(() => clusters?.remove());

lifeWithPlugin(() => clusters);
byHand(() => clusters);
migration(() => clusters);
