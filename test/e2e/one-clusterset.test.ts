import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Clusterset } from "./clusterset.ts";
import { Reader } from "./reader.ts";

// Guides that begin with a clusterset, by copy and paste, on the same one: debug-a-node.md, and then stories of walk-throughs.md, at the
// same time, each in a namespace of its own.

const [HERE, THERE] = ["cluster-1", "cluster-2"] as const;

/**
 * docs/guides/debug-a-node.md, by copy and paste: each fault is made, and what the guide shows of it is what is seen. The tests are
 * one story, in order.
 */
function debugging(set: () => Clusterset): void {
  describe("the guide for debugging a node", () => {
    let reader: Reader;
    before(async () => {
      const { clusters } = set();
      await using installing = new Reader(clusters, "install.md");
      await installing.follow("Try it");
      const node = clusters.cluster(HERE).node("node-1");
      reader = new Reader(clusters, "debug-a-node.md", { node });
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("without a fault, the commands for cluster, node and agent show that, and conntrack entries show the endpoint", async () => {
      await reader.follow("Where to look");
      await reader.follow("Which endpoint answers");
    });

    test("rejected: the rule's comment shows that there is no endpoint", async () => {
      await reader.follow("Connections are refused");
    });

    test("too far: the plan shows why the nearer endpoint is excluded", async () => {
      await reader.follow("Traffic goes to the wrong cluster");
    });

    test("hanging: conntrack entries show the endpoint that does not reply", async () => {
      await set().clusters.cut(HERE, THERE, "pods");
      await reader.follow("Connections hang");
      await set().clusters.heal();
    });

    test("no such name: there is no import, and the export's condition has the reason", async () => {
      await reader.follow("A name does not resolve");
    });

    test("not ready: the agent logs which right it lacks, and the rules stay", async () => {
      const agent = "system:serviceaccount:clusterset-proxy:clusterset-agent";
      const end = set().provoke(({ user, code }) => user === agent && code === 403);
      await reader.follow("An agent is not ready");
      end();
    });

    test("changed by another program: repaired, logged and counted; every step of the guide was tested", async () => {
      await reader.follow("Rules disappear or change");
      assert.deepEqual(reader.left, []);
    });
  });
}

let set: Clusterset;
before(async () => {
  set = await Clusterset.create({ clusters: 2, regions: ["eu-west", "us-east"] });
});
after(() => set?.remove());

debugging(() => set);

describe("walk-throughs.md, where controllers do what is to be done", { concurrency: 3 }, () => {
  for (const story of ["Types and conflicts", "Own cluster first", "Automatic"]) {
    test(`${story}: each command prints what the guide shows`, async () => {
      const node = set.clusters.cluster(HERE).node("node-1");
      await using reader = new Reader(set.clusters, "walk-throughs.md", { node });
      await reader.followSection(story);
    });
  }
});
