import assert from "node:assert/strict";
import { test } from "node:test";
import { nftables } from "../backends/nftables.ts";
import { NodeStage } from "../stages/node-stage.ts";

test("what another program changes while the agent is stopped is repaired at its start", async () => {
  await using stage = await NodeStage.create({ backend: nftables });
  await stage.start();
  const settled = await stage.rules();
  const table = "ip clusterset-proxy";
  const changes = [
    { what: "flushed", command: `nft flush map ${table} picks` },
    ...nftables
      .foreignChanges("IPv4")
      .filter(({ what }) => /the chain of another$|policy|dormant/.test(what)),
  ];
  assert.equal(changes.length, 4);
  for (const { what, command } of changes) {
    await stage.agent.stop();
    await stage.node.exec(["sh", "-c", command]);
    assert.notEqual(await stage.rules(), settled, what);
    await stage.agent.start();
    assert.equal(await stage.rules(), settled, what);
  }
});
