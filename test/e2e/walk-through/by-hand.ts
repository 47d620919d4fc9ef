import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../stages/agent-process.ts";
import type { Reader } from "../reader.ts";
import { differences, type NodeRules, rulesOfNodes, tracesIn } from "../rules.ts";
import { Client } from "./client.ts";
import { readerOf, Seen, unread } from "./seen.ts";

const [OURS, THEIRS] = ["cluster-1", "cluster-2"] as const;

/** The demo of kubernetes-sigs/mcs-api, with agents only: "By hand" of the guide. */
export function byHand(clusters: () => Clusters): void {
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
