import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RestoreProcess } from "../../agent/backends/iptables/apply.ts";
import { FLAVOURS, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { Lab } from "../lab/lab.ts";

/** Longer than iptables-legacy-restore has ever waited for its lock. */
const LONG = 6_000;

for (const flavour of FLAVOURS) {
  test(`${flavour}: one process runs a transaction that is written slowly, and another one later`, async () => {
    await using lab = await Lab.oneNode();
    const node = lab.node("c1", "n1");
    let respawns = 0;
    const { restore } = toolsOf(flavour, "IPv4", node.within);
    const process = new RestoreProcess(restore, () => respawns++);
    await process.run(slowly("*nat\n:CSP-A - [0:0]\n", "-A CSP-A -j RETURN\n", "COMMIT\n"));
    await sleep(LONG);
    await process.run("*nat\n:CSP-B - [0:0]\nCOMMIT\n");
    await process.close();
    const rules = await node.exec([`iptables-${flavour}-save`]);
    assert.match(rules, /^-A CSP-A -j RETURN$/m);
    assert.match(rules, /^:CSP-B /m);
    assert.equal(respawns, 0, "by one process");
  });
}

/** As of a node that has no time to make it: all but the last two pieces are read long before the last is there. */
function* slowly(...pieces: readonly [string, string, string]): Generator<string> {
  const [first, second, last] = pieces;
  yield first;
  yield second;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LONG);
  yield last;
}
