import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AGENT, eventually } from "../stages/agent-process.ts";
import { CLUSTER_IP, NODE_PORT, RANGE, SharedNode, VIP } from "./shared-node.ts";

/** Emulation is slow. */
const PATIENCE = 90_000;
/** What mends a kube-proxy that deletes our virtual servers. */
const LINE = 'ipvs: {excludeCIDRs: ["241.0.0.0/8"]}';

describe("beside the real kube-proxy in ipvs mode", () => {
  let shared: SharedNode;
  const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
  const answers = (address: string, who: string, port?: number) =>
    soon(async () => assert.equal(await shared.call(address, port), who));
  const restart = async (...excluded: readonly string[]) => {
    await shared.proxy.stop();
    shared.proxy.configure(excluded);
    await shared.proxy.start();
  };
  /** Its objects, once all its virtual servers have the same endpoint: it changes one after the other. */
  const settled = () =>
    soon(async () => {
      const its = await shared.its();
      const endpoints = [...its.matchAll(/^-a -t .* -r (\S+)/gm)].map(([, endpoint]) => endpoint);
      assert.equal(new Set(endpoints).size, 1, "kube-proxy is still at work");
      return its;
    });
  const cleanUp = () => shared.node.exec([AGENT, "cleanup"], { timeout: PATIENCE });
  before(async () => {
    shared = await SharedNode.create();
  });
  after(() => shared[Symbol.asyncDispose]());

  test("an agent that started first ends, and logs the configuration that fixes it", async () => {
    await shared.agent.start();
    await answers(VIP, "ours");
    await shared.proxy.start();
    assert.deepEqual(await shared.agent.exited, { code: 1, signal: null }, shared.agent.log);
    assert.ok(shared.agent.log.includes(JSON.stringify(LINE).slice(1, -1)), shared.agent.log);
    await cleanUp();
  });

  test("the agent does not start while kube-proxy deletes foreign servers, and logs the configuration that fixes it", async () => {
    await answers(CLUSTER_IP, "theirs");
    shared.agent.launch();
    assert.deepEqual(await shared.agent.exited, { code: 1, signal: null }, shared.agent.log);
    assert.ok(shared.agent.log.includes(JSON.stringify(LINE).slice(1, -1)), shared.agent.log);
    assert.doesNotMatch(shared.agent.log, /if it does not tell|kube-proxy-exclude-cidrs/i);
  });

  test("an agent with a wrong flag repairs servers that kube-proxy deletes, and logs kube-proxy as the cause", async () => {
    const { trusting } = shared;
    await trusting.start();
    await answers(VIP, "ours");
    // Each of its passes deletes them, and it makes one when a Service changes.
    shared.serve(["other"]);
    await soon(async () => assert.equal(await shared.ours(), ""));
    shared.import(["other"]);
    await answers(VIP, "other");
    // Whichever is first: the transaction that finds the server deleted, or the drift check.
    assert.match(
      trusting.log,
      /("CSP_SERVER_GONE".* TCP \S+ 80|"reason":"server-missing").* kube-proxy in ipvs mode: its ipvs\.excludeCIDRs must hold 241\.0\.0\.0\/8"/,
    );
    await trusting.stop();
    await cleanUp();
    shared.serve(["theirs"]);
    shared.import(["ours"]);
  });

  test("with the range excluded, both serve their VIPs, and neither changes objects of the other", async () => {
    await restart(RANGE);
    await answers(CLUSTER_IP, "theirs");
    const its = await settled();
    await shared.agent.start();
    await answers(VIP, "ours");
    await answers(CLUSTER_IP, "theirs");
    assert.equal(await shared.its(), its);
    const ours = await shared.ours();
    assert.match(ours, /-A -t 241\.0\.1\.7:80 -s wrr -b \S*flag-3\n-a .* -w 1$/);
    shared.serve(["other"]);
    await answers(CLUSTER_IP, "other");
    assert.equal(await shared.ours(), ours);
    shared.import(["other"]);
    await answers(VIP, "other");
    await answers(shared.node.address(), "other", NODE_PORT);
    // That makes a virtual server of its own on each address of the node: ours are such.
    assert.equal(await shared.call(VIP, NODE_PORT), "refused");
    const servers = await shared.node.exec(["ipvsadm", "-Sn"]);
    assert.match(servers, new RegExp(`-A -t ${VIP}:${NODE_PORT} -s rr\n`));
  });

  test("a restart of kube-proxy changes no object of ours", async () => {
    const ours = await shared.ours();
    await restart(RANGE);
    await answers(CLUSTER_IP, "other");
    assert.equal(await shared.ours(), ours);
    await answers(VIP, "other");
    assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
  });

  test("cleanup keeps kube-proxy's servers, sets, rules and addresses, and deletes all of ours", async () => {
    await shared.agent.stop();
    const its = await settled();
    await cleanUp();
    assert.equal(await shared.its(), its);
    assert.equal(await shared.ours(), "");
    await answers(CLUSTER_IP, "other");
  });

  test("an agent with nftables needs no setting of kube-proxy: both serve their VIPs, and neither changes objects of the other", async () => {
    await restart();
    await answers(CLUSTER_IP, "other");
    const its = await settled();
    const { nftables } = shared;
    await nftables.start();
    await answers(VIP, "other");
    assert.equal(await shared.its(), its);
    shared.import(["ours"]);
    shared.serve(["theirs"]);
    await answers(VIP, "ours");
    await answers(CLUSTER_IP, "theirs");
    await restart();
    await answers(CLUSTER_IP, "theirs");
    await answers(VIP, "ours");
    assert.doesNotMatch(await nftables.page("/metrics"), /_drift_repairs_total\{/);
    await nftables.stop();
    const after = await settled();
    await cleanUp();
    assert.equal(await shared.its(), after);
    await answers(CLUSTER_IP, "theirs");
  });

  describe("with failover slices as the controller writes them, for a pod of another cluster", () => {
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
    before(() => shared.serve(["theirs"], ["other"]));

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
      assert.deepEqual(
        [...results.keys()].sort(),
        ["other", "theirs"],
        JSON.stringify([...results]),
      );
    });
  });
});
