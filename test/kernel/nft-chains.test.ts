import assert from "node:assert/strict";
import { test } from "node:test";
import { nftables } from "../backends/nftables.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";
import { NodeStage } from "../stages/node-stage.ts";

/** Scales a weighted import from 1 to 150 endpoints; prints, for each restart after it, the rules that the table's marks show. */
const SCRIPT = `
  const { finished } = await import("@/agent/backends/backend.ts");
  const { NftablesBackend } = await import("@/agent/backends/nftables/backend.ts");
  const { cidr } = await import("@/test/generators/facts.ts");
  const { virtualService } = await import("@/test/generators/services.ts");
  const options = { family: "IPv4", clusterSetCidrs: [cidr("241.0.0.0/8")], masquerade: { mode: "none", podCidrs: [] }, remembers: true };
  const shares = [{ cluster: "c1", weight: 1 }, { cluster: "c2", weight: 9 }];
  const endpoint = (address, cluster) => ({ address, port: 80, cluster });
  const scaled = (size) => virtualService({ importKey: "demo/web", portName: "http", port: 80, vips: ["241.0.0.1"], tier: "remainder", shares,
    endpoints: [endpoint("10.1.0.1", "c1"), ...Array.from({ length: size }, (_, i) => endpoint("10.2.0." + (1 + i), "c2"))] });
  for (let restart = 0; restart < 3; restart++) {
    const backend = new NftablesBackend(options);
    const state = await backend.read();
    const ruleset = backend.ruleset();
    for (let size = restart === 0 ? 1 : 150; size <= 150; size++) {
      ruleset.set("demo/web", [scaled(size)]);
      const tx = finished(backend.diff(state, finished(ruleset.take())));
      if (!tx.empty) await backend.apply(tx, state);
    }
    const { drift } = await backend.check(state);
    await backend.close();
    console.log(JSON.stringify({ drift, extra: state.rules.filter((mark) => mark.includes("-of-")) }));
  }`;

test("chains that a weighted import no longer needs are deleted from the kernel", async () => {
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  const runs = await evaluate(node, SCRIPT);
  assert.equal(runs.length, 3);
  for (const { drift, extra } of runs) {
    assert.deepEqual(drift, []);
    assert.ok(extra.length < 2 * 150, `${extra.length} rules`);
  }
  assert.ok(!JSON.stringify(runs.at(-1)).includes("unused"));
  const table = await node.exec(["nft", "list", "table", "ip", "clusterset-proxy"]);
  const chains = table.match(/chain pick-\d+-of-\d+ /g) ?? [];
  assert.ok(chains.length > 0 && chains.length <= 64 + 2, `${chains.length} chains`);
  assert.match(table, /chain pick-150-of-2 \{\s+meta priority set numgen random mod 150/);
});

test("what another program changes while the agent is stopped is repaired at its start", async () => {
  await using stage = await NodeStage.create({ backend: nftables });
  await stage.start();
  const settled = await stage.rules();
  const table = "ip clusterset-proxy";
  const changes = [
    { what: "flushed", command: `nft flush map ${table} picks` },
    ...nftables
      .foreignChanges("IPv4")
      .filter(({ what }) => /chain of another|policy|dormant/.test(what)),
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
