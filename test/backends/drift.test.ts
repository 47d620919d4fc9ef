import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

const REPAIRS = "clusterset_agent_drift_repairs_total";
/** How often a firewall reloads. */
const RELOADS = 8;

// Each kind of change is repaired: test/kernel/every-object.test.ts. Each waits for checks, many times: they wait together.
describe("changes by other programs", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`${backend.title}: a firewall that reloads again and again: what is gone comes back each time, without growing waits, and each repair is counted`, async () => {
      const [flush = ""] = Object.values(backend.foreignChanges("IPv4"));
      const ranges = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
      await using stage = await NodeStage.create({ backend, flags: () => ranges });
      await stage.start();
      const settled = await stage.rules();
      // A check comes five seconds after a start or a repair; on a slow machine all others are minutes apart.
      await stage.agent.stop();
      await stage.agent.start();
      // Absent until there was one.
      const repairs = () => stage.agent.metric(REPAIRS).catch(() => 0);
      for (let i = 0; i < RELOADS; i++) {
        const before = await repairs();
        await stage.node.exec(["sh", "-c", flush]);
        await eventually(async () => {
          assert.ok((await repairs()) > before);
          assert.equal(await stage.rules(), settled);
        }, 20_000);
      }
    });
  }
});
