import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";
import type { ForeignChange } from "./tested-backend.ts";

/** Milliseconds to wait for a repair: the longer a check takes, the rarer checks are, and all take long on a busy machine. */
const PATIENCE = 240_000;
const REPAIRS = "clusterset_agent_drift_repairs_total";

// Each waits five seconds for a check, many times: they wait together.
describe("changes by other programs", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    describe(backend.title, { concurrency: false }, () => {
      // One for each way in which the check reports.
      const changes = [...Map.groupBy(backend.foreignChanges("IPv4"), reasonsOf).values()].flatMap(
        (alike) => alike.slice(0, 1),
      );
      let stage: NodeStage;
      let settled: string;
      before(async () => {
        const ranges = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
        stage = await NodeStage.create({ backend, flags: () => ranges });
        await stage.start();
        settled = await stage.rules();
        // A check comes five seconds after a start or a repair; on a slow machine all others are minutes apart.
        await stage.agent.stop();
        await stage.agent.start();
      });
      after(() => stage[Symbol.asyncDispose]());

      for (const change of changes) {
        const { what, command } = change;
        test(`${what}: repaired and reported`, async () => {
          const before = stage.agent.log.length;
          await stage.node.exec(["sh", "-c", command]);
          const reported = new RegExp(`"family":"IPv4","reason":"(${reasonsOf(change)})"`);
          await eventually(() => assert.match(stage.agent.log.slice(before), reported), PATIENCE);
          await eventually(async () => assert.equal(await stage.rules(), settled), PATIENCE);
        });
      }

      test("a firewall that reloads again and again: what is gone comes back each time, without growing waits", async () => {
        const [flush] = changes;
        assert.ok(flush);
        for (let i = 0; i < 8; i++) {
          const before = await stage.agent.metric(REPAIRS);
          await stage.node.exec(["sh", "-c", flush.command]);
          await eventually(async () => {
            assert.ok((await stage.agent.metric(REPAIRS)) > before);
            assert.equal(await stage.rules(), settled);
          }, 20_000);
        }
      });

      test("every repair is counted", async () => {
        const repairs = await stage.agent.metric(REPAIRS);
        assert.ok(repairs >= changes.length, `${repairs}`);
      });
    });
  }
});

function reasonsOf({ found = [] }: ForeignChange): string {
  return found.map((one) => one.split(" ")[0]).join("|");
}
