import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Argv } from "../../system/program-result.ts";
import { chainLister } from "./list.ts";
import { BASES, type ChainKey } from "./state.ts";

const all = () => true;
const KEYS: readonly ChainKey[] = ["nat OUTPUT", "nat CSP-A", "filter CSP-A", "nat *"];

/** A tool of each flavour that answers as the real one, from a script that reads its arguments. */
function lister(flavour: "nft" | "legacy", script: string) {
  const argv: Argv = ["sh", "-c", script, "tool"];
  return chainLister(flavour, { list: argv, save: argv, restore: ["false"] });
}

/** Stands in for `iptables-nft -t TABLE -S CHAIN`. */
const NFT = `
case "$2 $4" in
  "nat OUTPUT") echo "-P OUTPUT ACCEPT"; echo "-A OUTPUT -j CSP-A"; echo "-A OUTPUT -m comment --comment \\"= 0 nat:CSP-A\\"" ;;
  "nat CSP-A") echo "-N CSP-A"; echo "-A CSP-A -j RETURN" ;;
  *) echo "tool: chain \\\`$4' in table \\\`$2' is incompatible, use 'nft' tool." >&2; exit 1 ;;
esac`;

describe("chains of the nft flavour", () => {
  test("are listed by name; missing ones are distinguished from empty ones", async () => {
    const listing = await lister("nft", NFT)(KEYS, all, undefined);
    assert.deepEqual(
      [...listing],
      [
        ["nat OUTPUT", ["-A OUTPUT -j CSP-A", '-A OUTPUT -m comment --comment "= 0 nat:CSP-A"']],
        ["nat CSP-A", ["-A CSP-A -j RETURN"]],
        ["filter CSP-A", undefined],
        ["nat *", undefined],
      ],
    );
  });

  test("are listed without rules that are not requested", async () => {
    const list = lister("nft", NFT);
    const listing = await list(["nat OUTPUT"], (line) => line.endsWith("CSP-A"), undefined);
    assert.deepEqual(listing.get("nat OUTPUT"), ["-A OUTPUT -j CSP-A"]);
  });

  test("that are built-in and cannot be listed make the table unreadable", async () => {
    for (const key of BASES.filter((one) => one !== "nat OUTPUT")) {
      await assert.rejects(lister("nft", NFT)([key], all, undefined), {
        code: "CSP_TABLE_UNREADABLE",
        message: /incompatible, use 'nft' tool\.$/,
      });
    }
  });

  test("are not returned if the tool fails or is missing", async () => {
    const failing = lister("nft", "echo 'netlink: no memory' >&2; exit 4");
    await assert.rejects(failing(KEYS, all, undefined), {
      code: "CSP_EXEC_FAILED",
      message: /status 4: netlink: no memory$/,
    });
    const tool: Argv = ["/nonexistent/iptables"];
    const missing = chainLister("nft", { list: tool, save: tool, restore: tool });
    await assert.rejects(missing(KEYS, all, undefined), { code: "CSP_EXEC_MISSING" });
  });
});

/** Stands in for `iptables-legacy-save -t TABLE`. */
const SAVE = `
case "$2" in
  nat) printf '%s\\n' '*nat' ':OUTPUT ACCEPT [1:2]' ':CSP-A - [0:0]' ':CSP-AB - [0:0]' '-A OUTPUT -j CSP-A' '-A CSP-A -j RETURN' '-A CSP-AB -j ACCEPT' COMMIT ;;
  filter) printf '%s\\n' '*filter' ':CSP-A - [0:0]' COMMIT ;;
esac`;

describe("chains of the legacy flavour", () => {
  test("are picked from one listing of each table", async () => {
    const listing = await lister("legacy", SAVE)(KEYS, all, undefined);
    assert.deepEqual(
      [...listing],
      [
        ["filter CSP-A", []],
        ["nat OUTPUT", ["-A OUTPUT -j CSP-A"]],
        ["nat CSP-A", ["-A CSP-A -j RETURN"]],
        ["nat *", undefined],
      ],
    );
  });

  test("are not returned if the listing ends early", async () => {
    const broken = lister("legacy", `${SAVE}\nexit 1`);
    await assert.rejects(broken(KEYS, all, undefined), { code: "CSP_EXEC_FAILED" });
  });

  test("are not waited for once the listing is stopped", async () => {
    const stop = new AbortController();
    const listing = lister("legacy", "sleep 60")(KEYS, all, stop.signal);
    stop.abort();
    await assert.rejects(listing);
  });
});
