import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tools } from "./flavour.ts";
import { readBack } from "./read.ts";

const SAVE = `
case "$1 $2" in
  "-t nat") echo ":CSP-A - [0:0]"; echo "-A OUTPUT -j CSP-A" ;;
  "-t filter") echo ":CSP-GUARD - [0:0]"; echo ":KUBE-FORWARD - [0:0]" ;;
  *) exit 2 ;;
esac
`;

function tools(save: string, list = "true"): Pick<Tools, "list" | "save"> {
  return { list: ["sh", "-c", list, "iptables"], save: ["sh", "-c", save, "save"] };
}

test("reads both tables of a flavour, one after the other", async () => {
  const { state, bases } = await readBack(tools(SAVE));
  const { chains, jumps } = state;
  assert.deepEqual([...chains.keys()], ["filter CSP-GUARD", "nat CSP-A"]);
  assert.deepEqual(jumps, ["nat OUTPUT -j CSP-A"]);
  const rules = [...bases].filter(([, lines]) => lines?.length !== 0);
  assert.deepEqual(rules, [["nat OUTPUT", ["-A OUTPUT -j CSP-A"]]]);
});

test("reports a table that iptables cannot express as unreadable, not as empty", async () => {
  const save = "echo \"# Table \\`$2' is incompatible, use 'nft' tool.\"";
  // Of the chains that are listed one by one, OUTPUT is the one that cannot be.
  const list = '[ "$4" != OUTPUT ]';
  await assert.rejects(readBack(tools(save, list)), {
    code: "CSP_TABLE_UNREADABLE",
    message: /table filter holds .*: see nft list chain ip filter OUTPUT$/,
  });
  await assert.rejects(readBack(tools(save)), { message: /see nft list table ip filter$/ });
});

test("rejects if a part of a table cannot be read", async () => {
  await assert.rejects(readBack(tools('echo ":CSP-A - [0:0]"; exit 4')), {
    code: "CSP_EXEC_FAILED",
  });
  await assert.rejects(readBack({ list: ["true"], save: ["/nonexistent/iptables-save"] }), {
    code: "CSP_EXEC_MISSING",
  });
});
