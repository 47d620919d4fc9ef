import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { CLUSTER_IP, NODE_PORT, SharedNode } from "./shared-node.ts";

/** Emulation is slow. */
const PATIENCE = 90_000;

// Failover slices as the controller writes them: "theirs" is an endpoint of the cluster, "other" one of another.

describe("the real kube-proxy in ipvs mode, with failover slices", () => {
  let shared: SharedNode;
  /**
   * Waits until this pod alone gets new connections. An answer would not show that: kube-proxy gets the two slices one after the
   * other, and between them both pods answer.
   */
  const leadsTo = (pod: string) =>
    eventually(async () => {
      assert.deepEqual(await shared.takers(CLUSTER_IP), [pod]);
      assert.deepEqual(await shared.takers(shared.node.address(), NODE_PORT), [pod]);
    }, PATIENCE);
  /** The results of so many connections, without repetitions. */
  const callers = async (count: number): Promise<string[]> => {
    const results = new Set<string>();
    for (let i = 0; i < count; i++) results.add(await shared.call(CLUSTER_IP));
    return [...results].sort();
  };
  before(async () => {
    shared = await SharedNode.create();
    shared.serve(["theirs"], ["other"]);
    await shared.proxy.start();
  });
  after(() => shared[Symbol.asyncDispose]());

  test("a ready endpoint of the cluster gets all connections", async () => {
    await leadsTo("theirs");
    assert.deepEqual(await callers(20), ["theirs"]);
  });

  test("without one, ClusterIP and node port lead to the other cluster, and back; no connection fails meanwhile", async () => {
    let running = true;
    const stream = (async () => {
      const results = new Map<string, number>();
      while (running) {
        const result = await shared.call(CLUSTER_IP);
        results.set(result, (results.get(result) ?? 0) + 1);
      }
      return results;
    })();
    try {
      for (let round = 0; round < 2; round++) {
        shared.serve(["theirs"], ["other"], true);
        await leadsTo("other");
        assert.deepEqual(await callers(20), ["other"], "none goes to the pod that ends");
        shared.serve([], ["other"]);
        await leadsTo("other");
        assert.equal(await shared.call(shared.node.address(), NODE_PORT), "other");
        assert.deepEqual(await callers(20), ["other"]);
        shared.serve(["theirs"], ["other"]);
        await leadsTo("theirs");
        assert.equal(await shared.call(shared.node.address(), NODE_PORT), "theirs");
      }
    } finally {
      running = false;
      await stream;
    }
    const results = await stream;
    assert.deepEqual([...results.keys()].sort(), ["other", "theirs"], JSON.stringify([...results]));
  });
});
