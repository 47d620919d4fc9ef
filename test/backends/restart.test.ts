import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BACKENDS } from "../backends.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";
import { service } from "./service.ts";

const RANGES = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];

/** The service with these endpoints in two clusters. */
function web(c1: readonly string[], c2: readonly string[]): object[] {
  const vips = ["241.0.1.7", "fd00:241::7"];
  const [, ...slices] = service("shop/web", vips, c2, { cluster: "c2" });
  return [...service("shop/web", vips, c1), ...slices];
}

// Each sleeps for a quarter of a minute: they sleep together.
describe("a restart of the agent", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    describe(backend.title, { concurrency: false }, () => {
      let stage: NodeStage;
      const { create, list, shown } = backend.foreign;
      const takers = () => backend.takers(stage.node, "IPv4", "TCP");
      before(async () => {
        stage = await NodeStage.create({ backend, flags: () => RANGES });
        stage.manifests.remove("import");
        stage.manifests.write("slice", ...web(["10.1.0.11", "10.1.0.12"], ["10.2.0.11"]));
      });
      after(() => stage[Symbol.asyncDispose]());

      test("before its directory of manifests exists, it writes nothing", async () => {
        const missing = join(stage.lab.directory, "missing");
        const flags = ["--cluster-id", "c1", ...backend.flags];
        const early = new AgentProcess(stage.node, missing, flags);
        early.launch();
        try {
          await eventually(() => early.page("/livez"));
          // With IPVS, it tries for a moment what the kernel supports, with a server of its own.
          await eventually(async () => assert.equal(await stage.rules(), ""));
          new ManifestDirectory(stage.lab, "missing").write("web", ...web([], []).slice(1));
          await early.page("/readyz");
        } finally {
          await early.stop();
        }
      });

      test("SIGTERM leaves the rules, and a restart writes nothing, beside objects of another program", async () => {
        await stage.start();
        await stage.node.exec(["sh", "-c", create]);
        assert.deepEqual(await takers(), ["10.1.0.11", "10.1.0.12"]);
        const rules = await stage.rules();
        assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
        assert.equal(await stage.rules(), rules);
        await stage.agent.start();
        assert.equal(await stage.rules(), rules);
        assert.deepEqual(await stage.agent.writes(), [0, 0]);
        assert.match(await stage.node.exec(["sh", "-c", list]), shown);
      });

      test("a restart writes only what changed while the agent was stopped", async () => {
        await stage.agent.stop();
        stage.manifests.write("slice", ...web([], ["10.2.0.11"]));
        await stage.agent.start();
        // At once: with IPVS, the first check deletes what drains.
        const [counted, { written, deleted }] = [await stage.agent.writes(), backend.failover];
        assert.deepEqual(counted, [written, deleted]);
        assert.deepEqual(await takers(), ["10.2.0.11"]);
      });

      test("an import that listed the same VIP while the agent was stopped gets nothing, whatever its age and name", async () => {
        // With IPVS, the endpoints that left in the test before drain for a while.
        await eventually(async () => assert.doesNotMatch(await stage.rules(), /10\.1\.0\.1[12]/));
        await stage.agent.stop();
        const rules = await stage.rules();
        const [rival] = service("evil/old", ["241.0.1.7"], []);
        const metadata = { ...Object(rival).metadata, creationTimestamp: "2020-01-01T00:00:00Z" };
        stage.manifests.write("a-rival", { ...rival, metadata });
        await stage.agent.start();
        assert.equal(await stage.rules(), rules);
        assert.deepEqual(await stage.agent.writes(), [0, 0]);
        const plan = JSON.parse(await stage.agent.page("/plan/evil/old"));
        assert.deepEqual(
          plan.vips.map(({ reason, heldBy }: Record<string, string>) => [reason, heldBy]),
          [["vip-conflict", "shop/web"]],
        );
        stage.manifests.remove("a-rival");
      });

      // Every check and retry of a quiet agent, and the end of netlink's patience, is due within these ten seconds.
      test("after SIGSTOP and SIGCONT, it writes only what changed meanwhile, and logs nothing", async () => {
        const { agent } = stage;
        stage.manifests.write("slice", ...web(["10.1.0.11", "10.1.0.12"], []));
        await stage.live("10.1.0.12");
        const passes = () => agent.metric("clusterset_agent_sync_duration_seconds_count");
        const repairs = () => agent.metric("clusterset_agent_drift_repairs_total").catch(() => 0);
        // The pass of the other family may still follow, and so may the removal of the rival, and the first preflight.
        await eventually(async () => {
          assert.match(agent.log, /"evil\/old","msg":"Import was removed"/);
          await agent.metric("clusterset_agent_preflight_failing");
          const count = await passes();
          await sleep(500);
          assert.equal(await passes(), count);
        });
        const before = [...(await stage.agent.writes()), await passes(), await repairs()];
        const { log } = agent;
        agent.signal("SIGSTOP");
        await sleep(5_000);
        stage.manifests.write("slice", ...web(["10.1.0.13"], []));
        await sleep(5_000);
        assert.deepEqual(await takers(), ["10.1.0.11", "10.1.0.12"]);
        agent.signal("SIGCONT");
        await stage.live("10.1.0.13");
        // Until the next drift check, and the next check of files for which no event was received.
        await sleep(6_000);
        const after = [...(await stage.agent.writes()), await passes(), await repairs()];
        const { written, deleted } = backend.failover;
        const differences = after.map((count, i) => count - (before[i] ?? 0));
        // One pass in each family.
        assert.deepEqual(differences, [written, deleted, 2, 0]);
        assert.equal(agent.log, log);
      });

      test("cleanup deletes all objects of ours and none of another program, and can be repeated", async () => {
        await stage.agent.stop();
        for (let times = 0; times < 2; times++) {
          await stage.node.exec([AGENT, "cleanup", ...RANGES]);
          assert.equal(await stage.rules(), "");
          assert.match(await stage.node.exec(["sh", "-c", list]), shown);
        }
      });
    });
  }
});
