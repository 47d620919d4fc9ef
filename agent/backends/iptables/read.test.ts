import assert from "node:assert/strict";
import { test } from "node:test";
import { readBack } from "./read.ts";

const SAVE = `
case "$1 $2" in
  "-t nat") echo ":CSP-A - [0:0]"; echo "-A OUTPUT -j CSP-A" ;;
  "-t filter") echo ":CSP-GUARD - [0:0]"; echo ":KUBE-FORWARD - [0:0]" ;;
  *) exit 2 ;;
esac
`;

test("reads both tables of a flavour, one after the other", async () => {
  const { chains, jumps } = await readBack(["sh", "-c", SAVE, "save"]);
  assert.deepEqual([...chains.keys()], ["filter CSP-GUARD", "nat CSP-A"]);
  assert.deepEqual(jumps, ["nat OUTPUT -j CSP-A"]);
});

test("takes a table that iptables cannot express for unreadable, not for empty", async () => {
  const save = "echo \"# Table \\`$2' is incompatible, use 'nft' tool.\"";
  await assert.rejects(readBack(["sh", "-c", save, "save"]), {
    code: "CSP_TABLE_UNREADABLE",
    message: /table filter /,
  });
});

test("believes nothing of a table if a part of it could not be read", async () => {
  await assert.rejects(readBack(["sh", "-c", 'echo ":CSP-A - [0:0]"; exit 4', "save"]), {
    code: "CSP_EXEC_FAILED",
  });
  await assert.rejects(readBack(["/nonexistent/iptables-save"]), { code: "CSP_EXEC_MISSING" });
});
