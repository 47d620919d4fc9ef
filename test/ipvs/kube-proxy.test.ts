import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AGENT, eventually } from "../support/agent-process.ts";
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
  const cleanUp = () => shared.node.exec([AGENT, "cleanup"], { timeout: PATIENCE });
  before(async () => {
    shared = await SharedNode.create();
  });
  after(() => shared[Symbol.asyncDispose]());

  test("an agent that was there first ends, and says the line that mends it", async () => {
    await shared.agent.start();
    await answers(VIP, "ours");
    await shared.proxy.start();
    assert.deepEqual(await shared.agent.exited, { code: 1, signal: null }, shared.agent.log);
    assert.ok(shared.agent.log.includes(JSON.stringify(LINE).slice(1, -1)), shared.agent.log);
    await cleanUp();
  });

  test("the agent does not start while that deletes what it does not know, and says the line that mends it", async () => {
    await answers(CLUSTER_IP, "theirs");
    shared.agent.launch();
    assert.deepEqual(await shared.agent.exited, { code: 1, signal: null }, shared.agent.log);
    assert.ok(shared.agent.log.includes(JSON.stringify(LINE).slice(1, -1)), shared.agent.log);
    assert.doesNotMatch(shared.agent.log, /if it does not tell|kube-proxy-exclude-cidrs/i);
  });

  test("an agent that was told that it does not loses its servers to it, makes them again, and names who does it", async () => {
    const { trusting } = shared;
    await trusting.start();
    await answers(VIP, "ours");
    // Each of its passes deletes them, and it makes one when a Service changes.
    shared.serve(["other"]);
    await soon(async () => assert.equal(await shared.ours(), ""));
    shared.import(["other"]);
    await answers(VIP, "other");
    assert.match(
      trusting.log,
      /"CSP_SERVER_GONE".* TCP \S+ 80.* kube-proxy in ipvs mode: its ipvs\.excludeCIDRs must hold 241\.0\.0\.0\/8"/,
    );
    await trusting.stop();
    await cleanUp();
    shared.serve(["theirs"]);
    shared.import(["ours"]);
  });

  test("told to leave the range alone, it does: both are answered, and neither touches what is the other's", async () => {
    await restart(RANGE);
    await answers(CLUSTER_IP, "theirs");
    const its = await shared.its();
    await shared.agent.start();
    await answers(VIP, "ours");
    await answers(CLUSTER_IP, "theirs");
    assert.equal(await shared.its(), its);
    const ours = await shared.ours();
    assert.match(ours, /-A -t 241\.0\.1\.7:80 -s rr -b \S*flag-3\n-a .* -w 1$/);
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

  test("it goes and comes back, and nothing of ours has been changed", async () => {
    const ours = await shared.ours();
    await restart(RANGE);
    await answers(CLUSTER_IP, "other");
    assert.equal(await shared.ours(), ours);
    await answers(VIP, "other");
    assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
  });

  test("our cleanup leaves its servers, sets, rules and addresses as they were, and none of ours", async () => {
    await shared.agent.stop();
    const its = await shared.its();
    await cleanUp();
    assert.equal(await shared.its(), its);
    assert.equal(await shared.ours(), "");
    await answers(CLUSTER_IP, "other");
  });
});
