import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { ConntrackStage, PODS, REJECTED } from "../conntrack/stage.ts";
import { eventually } from "../stages/agent-process.ts";
import { FaultyTools } from "../stages/faulty-tools.ts";
import { service } from "./service.ts";

/** Emulation is slow. */
const PATIENCE = 40_000;
/** Of another import. */
const OTHER = "241.0.0.20";

for (const backend of BACKENDS) {
  describe(`faults of the tools, ${backend.title}`, () => {
    let stage: ConntrackStage;
    let tools: FaultyTools;
    const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
    const logged = (pattern: RegExp) => soon(() => assert.match(stage.agent.log, pattern));
    const answer = (vip?: string) => stage.answer(vip);
    const writeOther = (pod: "a" | "b") =>
      stage.manifests.write("other", ...service("shop/other", [OTHER], [PODS[pod]]));
    before(async () => {
      stage = await ConntrackStage.create({
        backend,
        program: async (lab) => {
          tools = new FaultyTools(lab, backend.standIns);
          return tools.starting(await backend.writingByTools?.(lab));
        },
      });
      stage.writeImport();
      stage.writeSlices(["a"]);
      await stage.agent.start();
      await stage.use(["a"]);
    });
    after(() => stage[Symbol.asyncDispose]());

    test("writes that fail: rules stay, and changes are live once a write succeeds", async () => {
      tools.fail(3);
      writeOther("a");
      await logged(/CSP_(EXEC_FAILED|RESTORE_KILLED)/);
      assert.equal(await answer(), "a");
      await soon(async () => assert.equal(await answer(OTHER), "a"));
      await logged(/Rules are in sync again/);
      stage.manifests.remove("other");
      await soon(async () => assert.equal(await answer(OTHER), REJECTED));
    });

    test("an agent killed during a change leaves working rules, and the next agent completes the change", async () => {
      tools.wait();
      writeOther("b");
      await tools.reached();
      assert.equal(await answer(OTHER), REJECTED);
      await stage.agent.kill();
      assert.equal(await answer(), "a");
      tools.heal();
      await stage.agent.start();
      assert.equal(await answer(OTHER), "b");
      assert.equal(await answer(), "a");
    });

    test("an agent stopped during a change completes it first, and the next agent writes nothing", async () => {
      tools.wait();
      stage.manifests.remove("other");
      await tools.reached();
      stage.agent.signal("SIGTERM");
      await logged(/"msg":"Stopping/);
      assert.equal(await answer(OTHER), "b");
      tools.heal();
      assert.deepEqual(await stage.agent.exited, { code: 0, signal: null }, stage.agent.log);
      assert.equal(await answer(OTHER), REJECTED);
      assert.deepEqual(await backend.takers(stage.node, "IPv4", "TCP"), [PODS.a]);
      const before = await backend.own(stage.node);
      await stage.agent.start();
      assert.deepEqual(await stage.agent.writes(), [0, 0]);
      assert.deepEqual(await backend.own(stage.node), before);
    });

    test("an agent stopped while a drift check hangs exits with code 0", async () => {
      tools.hang();
      // With nft, nothing is read while nobody else changes anything.
      await stage.node.exec(["nft", "add", "table", "ip", "another"]);
      await tools.reached();
      assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
      tools.heal();
      await stage.agent.start();
    });
  });
}
