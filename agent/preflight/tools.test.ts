import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judgeNft, judgeTools, parseTool } from "./tools.ts";

function tool(stdout: string, missing = false) {
  return parseTool("iptables-x", { status: missing ? undefined : 0, stdout, stderr: "", missing });
}

describe("iptables", () => {
  test("nft, for IPVS: it is there, or it is named", () => {
    const said = {
      status: 0,
      stdout: "nftables v1.0.6 (Lester Gooch #5)\n",
      stderr: "",
      missing: false,
    };
    assert.equal(judgeNft(parseTool("nft", said)).state, "well");
    const gone = judgeNft(parseTool("nft", { ...said, stdout: "", missing: true }));
    assert.equal(gone.reason, "tool-missing");
    assert.match(gone.advice ?? "", /install nftables/);
  });

  for (const [flavour, text, reason] of [
    ["nft", "iptables v1.8.9 (nf_tables)\n", undefined],
    ["nft", "iptables v1.8.4 (nf_tables)\n", undefined],
    ["nft", "iptables v1.8.3 (nf_tables)\n", "tool-old"],
    ["nft", "iptables v1.8.11 (nf_tables)\n", undefined],
    ["nft", "iptables v2.0.0 (nf_tables)\n", undefined],
    ["legacy", "iptables v1.8.2 (legacy)\n", undefined],
    ["legacy", "iptables v1.6.2\n", undefined],
    ["legacy", "iptables v1.6.1\n", "tool-old"],
    ["legacy", "iptables v1.4.21\n", "tool-old"],
    ["nft", "who knows", "not-tested"],
  ] as const) {
    test(`${flavour}, ${text.trim()}: ${reason ?? "well"}`, () => {
      assert.equal(judgeTools(flavour, [tool(text)]).reason, reason);
    });
  }

  test("one that is missing is told, whatever the other is", () => {
    const verdict = judgeTools("nft", [
      tool("iptables v1.8.9"),
      { ...tool("", true), program: "ip6tables-nft" },
    ]);
    assert.equal(verdict.reason, "tool-missing");
    assert.match(verdict.advice ?? "", /^ip6tables-nft is not installed/);
  });

  test("the advice names both versions", () => {
    assert.match(
      judgeTools("nft", [tool("iptables v1.8.2")]).advice ?? "",
      /1\.8\.2, older than 1\.8\.4/,
    );
  });
});
