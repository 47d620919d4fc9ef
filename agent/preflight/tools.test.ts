import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { requirementsOf } from "../backends/iptables/requirements.ts";
import { REQUIREMENTS } from "../backends/ipvs/requirements.ts";
import type { Tool } from "../backends/requirements.ts";
import { checkTools, parseTool } from "./tools.ts";

/** What is known of a tool that prints this. */
function fact(tool: Tool | undefined, stdout: string, missing = false) {
  assert.ok(tool);
  return parseTool(tool, { status: missing ? undefined : 0, stdout, stderr: "", missing });
}

const [nft] = REQUIREMENTS.tools(["IPv4", "IPv6"]);

describe("tools", () => {
  test("IPVS needs nft of any version", () => {
    assert.equal(checkTools([fact(nft, "nftables v1.0.6 (Lester Gooch #5)\n")]).state, "ok");
    const gone = checkTools([fact(nft, "", true)]);
    assert.equal(gone.reason, "tool-missing");
    assert.match(gone.advice ?? "", /^nft: not installed.*\. Install nftables\.$/);
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
    ["nft", "unknown", "not-tested"],
  ] as const) {
    test(`iptables, ${flavour} flavour, ${text.trim()}: ${reason ?? "ok"}`, () => {
      const [tool] = requirementsOf(flavour).tools(["IPv4"]);
      assert.equal(checkTools([fact(tool, text)]).reason, reason);
    });
  }

  test("names a missing tool, also if another is installed", () => {
    const [four, six] = requirementsOf("nft").tools(["IPv4", "IPv6"]);
    const finding = checkTools([fact(four, "iptables v1.8.9"), fact(six, "", true)]);
    assert.equal(finding.reason, "tool-missing");
    assert.match(finding.advice ?? "", /^ip6tables-nft: not installed.*--iptables-flavour\.$/);
  });

  test("names both versions of a tool that is too old", () => {
    const [tool] = requirementsOf("nft").tools(["IPv4"]);
    const { advice = "" } = checkTools([fact(tool, "iptables v1.8.2")]);
    assert.match(advice, /1\.8\.2, older than 1\.8\.4/);
  });
});
