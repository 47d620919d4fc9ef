import assert from "node:assert/strict";
import { test } from "node:test";
import { ofFamily } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { iptables } from "../backends/iptables.ts";
import { Programmer } from "../backends/programmer.ts";
import { service } from "../backends/service.ts";
import { nodeFact } from "../generators/facts.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";
import { modelOf, planOf } from "../packets/rendered.ts";

const SCRIPT = `import { nftGeneration } from "@/agent/system/nft-commits.ts"; console.log(await nftGeneration());`;
const NODE = nodeFact();

/** Imports with endpoints of these addresses in cluster c1. */
function servicesOf(imports: ReadonlyMap<ObjectKey, readonly string[]>) {
  const objects = [...imports].flatMap(([key, addresses], i) =>
    service(key, [`241.0.1.${i + 1}`], addresses),
  );
  return [...planOf(modelOf(objects, NODE), NODE)];
}

test("the kernel counts each COMMIT of ours once, and each command of another program; reading is not counted", async () => {
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  const generation = async (): Promise<number> => (await evaluate(node, SCRIPT))[0];
  const programmer = await Programmer.start(lab, node, iptables("nft"));
  const hold = { family: "IPv4", clusterSetCidrs: ofFamily(NODE.clusterSetCidrs, "IPv4") } as const;
  const states: (readonly (readonly [ObjectKey, readonly string[]])[])[] = [
    [["shop/web", ["10.1.0.1"]]],
    [
      ["shop/web", ["10.1.0.1", "10.1.0.2"]],
      ["shop/db", ["10.1.0.3"]],
    ],
    [
      ["shop/web", []],
      ["shop/db", ["10.1.0.3"]],
    ],
    [],
    [["shop/db", ["10.1.0.4"]]],
  ];
  let before = await generation();
  for (const state of states) {
    const services = servicesOf(new Map(state));
    const { done } = await programmer.hold({ ...hold, config: {}, services });
    const commits = done.match(/^COMMIT$/gm) ?? [];
    const after = await generation();
    assert.equal(after - before, commits.length, done);
    assert.ok(commits.length > 0);
    assert.deepEqual(await programmer.check("IPv4"), []);
    await node.exec(["iptables-nft-save"]);
    assert.equal(await generation(), after, "reading");
    await node.exec(["ip6tables-nft", "-w", "-A", "INPUT", "-j", "ACCEPT"]);
    before = await generation();
    assert.ok(before > after, "another program");
  }
});
