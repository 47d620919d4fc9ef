import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuardOptions } from "../../agent/backends/ipvs/guard.ts";
import { marksOf, renderElements, renderTables } from "../../agent/backends/ipvs/nft-tables.ts";
import type { GuardSets } from "../../agent/backends/ipvs/state.ts";
import { serviceKey } from "../../agent/backends/nft/service-key.ts";
import { NftProcess } from "../../agent/system/nft-process.ts";
import { cidr } from "../generators/facts.ts";
import { parseListing } from "../ipvs/listing.ts";
import { Lab } from "../lab/lab.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "off-cluster", podCidrs: [cidr("10.1.0.0/16")] },
};
const NONE: GuardSets = { served: new Map(), explicit: new Set() };

test("one nft creates tables and changes their elements; a rejected transaction changes nothing", async () => {
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
  const node = lab.node("c1", "n1");
  let respawns = 0;
  const [first, ...rest] = [...node.within, "nft"];
  const nft = new NftProcess({ program: [first, ...rest], onRespawn: () => respawns++ });
  const listing = async () => {
    const tables = await Promise.all(
      ["ip", "arp"].map((family) =>
        node.exec(["nft", "-j", "list", "table", family, "csp-ipvs"]).then(parseListing),
      ),
    );
    return { rules: tables.flatMap((table) => table?.rules ?? []), sets: tables[0]?.sets };
  };
  const run = (lines: readonly string[]) => nft.run(lines.map((line) => `${line}\n`).join(""));

  await nft.run(renderTables(OPTIONS, NONE));
  assert.deepEqual(await listing(), { rules: marksOf(OPTIONS), sets: NONE });
  const sets: GuardSets = {
    served: new Map([[serviceKey({ address: "f1000001", protocol: "TCP", port: 80 }), "a/b"]]),
    explicit: new Set(["01020304"]),
  };
  await run(renderElements(OPTIONS.family, NONE, sets));
  assert.deepEqual((await listing()).sets, sets);
  const wrong = "add element ip csp-ipvs nowhere { 1.2.3.4 }";
  await assert.rejects(run([...renderElements(OPTIONS.family, sets, NONE), wrong]), {
    code: "CSP_EXEC_FAILED",
    message: /nft: Error: No such file or directory/,
  });
  await assert.rejects(run(["no command at all"]), { code: "CSP_EXEC_FAILED" });
  assert.deepEqual((await listing()).sets, sets);
  await run(renderElements(OPTIONS.family, sets, NONE));
  assert.deepEqual((await listing()).sets, NONE);
  assert.equal(respawns, 0, "by one process");
  await nft.close();
});
