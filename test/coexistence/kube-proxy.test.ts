import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKENDS } from "../backends.ts";
import { CountedConnections } from "../connections/connections.ts";
import { eventually } from "../stages/agent-process.ts";
import { CLUSTER_IP, Cluster, type Server } from "./cluster.ts";
import type { Mode } from "./kube-proxy.ts";
import { flavourBeside, SharedNode, VIP } from "./shared-node.ts";

/** Milliseconds in which everybody has looked at the rules, on a machine that has other things to do. */
const LOOKS_MS = 30_000;
const MODES: readonly Mode[] = ["iptables-nft", "iptables-legacy", "nftables"];
/** Endpoints of the import, one state after the other: never none. */
const STATES: readonly (readonly Server[])[] = [["a", "b"], ["b"], ["c"], ["a", "b", "c"], ["a"]];

describe("beside the real kube-proxy", () => {
  let cluster: Cluster;
  let shared: SharedNode;
  before(async () => {
    cluster = await Cluster.create(MODES);
  });
  after(() => cluster.remove());

  for (const mode of MODES) {
    describe(`in mode ${mode}`, () => {
      before(async () => {
        shared = new SharedNode(cluster, mode);
        await shared.proxy.start();
        await eventually(() => shared.answered(CLUSTER_IP));
      });
      after(() => shared.stop());
      const flavours = [undefined, flavourBeside(mode)];
      const backends = BACKENDS.filter(({ config }) => flavours.includes(config.iptablesFlavour));
      for (const backend of backends) {
        describe(`with ${backend.title}`, () => {
          before(() => shared.use(backend));
          neighbours(mode);
        });
      }
      if (mode === "nftables") {
        describe("with an overlapping Service range", () => {
          for (const backend of backends) overlap(backend);
        });
      }
    });
  }

  function neighbours(mode: Mode): void {
    test("an installation changes no rule of kube-proxy, and both get responses", async () => {
      const its = await shared.settled();
      assert.match(its, /shop\/web/);
      shared.import(["a", "b", "c"]);
      await shared.agent.start();
      if (shared.backend.name === "iptables")
        assert.match(shared.agent.log, new RegExp(`"flavour":"${flavourBeside(mode)}"`));
      await shared.answered(VIP);
      await shared.answered(CLUSTER_IP);
      assert.equal(await shared.proxy.rules(), its);
    });

    test("no connection to the import fails or hangs while both have much to change", async (t) => {
      // Connections to the ClusterIP are kube-proxy's own: with much to change it may lose one, with and without us.
      const counted = new CountedConnections({
        seconds: 3,
        rate: 400,
        inFlight: 8,
        timeout: 5_000,
      });
      counted.add(shared.client, VIP);
      let running = true;
      const ended = counted.ended().finally(() => {
        running = false;
      });
      let changes = 0;
      for (; running; changes++) {
        shared.import(STATES[changes % STATES.length] ?? []);
        await cluster.changeService(changes);
        await sleep(20);
      }
      await ended;
      const { total } = await counted.assertNoneFailed(200);
      await shared.answered(CLUSTER_IP);
      t.diagnostic(`${total} connections, ${changes} changes of each`);
    });

    test("a restart of the agent writes nothing", async () => {
      shared.import(["a", "b"]);
      const both = [cluster.server("a"), cluster.server("b")];
      await eventually(async () => assert.deepEqual(await shared.takers(), both));
      // The other family's rules may follow a moment later.
      await shared.settled();
      await shared.agent.stop();
      const its = await shared.settled();
      await shared.agent.start();
      assert.deepEqual(await shared.agent.writes(), [0, 0]);
      assert.equal(await shared.proxy.rules(), its);
    });

    test("while only kube-proxy has changes, the agent writes nothing", async () => {
      const ours = await shared.ours();
      const its = await shared.proxy.rules();
      for (let changes = 0; changes < 21; changes++) {
        await cluster.changeService(changes);
        await sleep(50);
      }
      assert.notEqual(await shared.settled(), its);
      assert.deepEqual(await shared.ours(), ours);
      assert.deepEqual(await shared.agent.writes(), [0, 0]);
      assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
    });

    test("kube-proxy's cleanup and return change no rule of ours, and the agent moves no jump", async () => {
      const ours = await shared.ours();
      await shared.proxy.stop();
      await shared.proxy.cleanup();
      assert.deepEqual(await shared.ours(), ours, "its cleanup");
      await shared.answered(VIP);
      await shared.proxy.start();
      await eventually(() => shared.answered(CLUSTER_IP));
      // The agent checks every second if the kernel counts changes, else every 5 s.
      await sleep(shared.backend.config.iptablesFlavour === "legacy" ? 6_500 : 2_500);
      assert.deepEqual(await shared.ours(), ours);
      // Then ours are not the first.
      if (shared.backend.name === "iptables" && mode !== "nftables")
        for (const base of ["PREROUTING", "OUTPUT", "POSTROUTING"])
          assert.deepEqual(await shared.jumps(base), ["KUBE", "CSP"], base);
      assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
      await shared.answered(VIP);
    });

    test("after all rules were flushed, both restore theirs", async () => {
      const ours = await shared.ours();
      await shared.flush();
      // Who looks at legacy tables looks less often, and all look later on a busy machine.
      await eventually(() => shared.answered(VIP), LOOKS_MS);
      await eventually(async () => assert.deepEqual(await shared.ours(), ours), LOOKS_MS);
      assert.ok((await shared.agent.metric("clusterset_agent_drift_repairs_total")) > 0);
      // In its nftables mode it finds out when it has something to write, and a change and its opposite may be nothing to it.
      let changes = 0;
      await eventually(async () => {
        await cluster.changeService(changes++);
        await shared.answered(CLUSTER_IP);
      }, LOOKS_MS);
    });

    test("cleanup changes no rule of kube-proxy, and deletes all of ours", async () => {
      await shared.agent.stop();
      const its = await shared.settled();
      await shared.cleanup();
      assert.equal(await shared.proxy.rules(), its);
      assert.deepEqual(await shared.ours(), []);
      // The kernel limits ICMP errors (net.ipv4.icmp_ratelimit).
      await eventually(async () => assert.equal(await shared.call(VIP), "unreachable"));
      await shared.answered(CLUSTER_IP);
    });
  }

  function overlap(backend: TestedBackend): void {
    if (backend.name !== "iptables") {
      test(`${backend.title}: an address of both a Service and an import is the import's, whichever is programmed last`, async () => {
        shared.use(backend);
        await shared.agent.start();
        await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
        assert.equal(await shared.call(VIP), "a");
        await shared.proxy.stop();
        await shared.proxy.cleanup();
        await shared.proxy.start();
        await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
        assert.equal(await shared.call(VIP), "a");
      });
      return;
    }
    test("imports get responses, and connections to unused addresses hang", async () => {
      shared.use(backend);
      await shared.agent.start();
      assert.equal(await shared.call(VIP, 81), "refused");
      await cluster.addServiceRange("overlap", "241.0.0.0/16");
      // It takes a range up with its next full pass.
      await shared.proxy.stop();
      await shared.proxy.start();
      await eventually(async () => assert.equal(await shared.call(VIP, 81), "timeout"));
      await shared.answered(VIP);
      await shared.agent.stop();
      await shared.agent.start();
      await eventually(async () =>
        assert.match(
          await shared.agent.page("/readyz?verbose"),
          /^\[-\]preflight-service-range-IPv4 service-range-overlap: .* 241\.0\.0\.0\/16/m,
        ),
      );
    });

    test("an address of both a Service and an import reaches the one that was programmed last", async () => {
      shared.import(["a"]);
      await eventually(async () => assert.equal(await shared.call(VIP), "a"));
      await cluster.addService("twin", VIP, "b");
      await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
      await shared.proxy.stop();
      await shared.proxy.start();
      await eventually(async () => assert.equal(await shared.call(VIP), "b"));
      await shared.agent.stop();
      await shared.node.exec(["nft", "delete table ip nat; delete table ip filter"]);
      await shared.agent.start();
      assert.equal(await shared.call(VIP), "a");
      assert.match(await shared.proxy.rules(), /shop\/twin/);
      await shared.agent.stop();
      await shared.cleanup();
    });
  }
});
