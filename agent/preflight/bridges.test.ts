import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkBridges, parseBridges } from "./bridges.ts";
import { parseLinks } from "./pods.ts";

const output = (stdout: string) => ({ status: 0, stdout, stderr: "", missing: false });
const BRIDGES =
  "3: cni0: <UP> mtu 1500 qdisc noqueue\\    link/ether 0a:00 promiscuity 0 bridge forward_delay 1500 nf_call_iptables 0 nf_call_ip6tables 1 nf_call_arptables 0\n" +
  "4: virbr0: <UP> mtu 1500 qdisc noqueue\\    link/ether 0a:01 bridge nf_call_iptables 0 nf_call_ip6tables 0 nf_call_arptables 0\n";
const LINKS =
  "7: veth1@if2: <UP> mtu 1500 qdisc noqueue master cni0 state UP mode DEFAULT\\    link/ether 0a:02 link-netnsid 0\n" +
  "8: eth1@bond1: <UP> mtu 1500 qdisc noqueue master virbr0 state UP mode DEFAULT\\    link/ether 0a:03\n";

const masters = parseLinks(output(LINKS), new Set())?.masters;
const bridges = parseBridges(output(BRIDGES));

describe("bridges with pods", () => {
  test("only those with links of pods count", () => assert.deepEqual(masters, ["cni0"]));

  for (const [text, family, state] of [
    ["1\n", "IPv4", "ok"],
    ["0\n", "IPv4", "failing"],
    [undefined, "IPv4", "failing"],
    // The bridge's own setting counts, too.
    ["0\n", "IPv6", "ok"],
  ] as const) {
    test(`sysctl ${text?.trim()}, ${family}: ${state}`, () => {
      assert.equal(checkBridges(family, text, bridges, masters).state, state);
    });
  }

  test("the advice names the bridge, the sysctl and the module", () => {
    const zero = checkBridges("IPv4", "0\n", bridges, masters);
    assert.match(
      zero.advice ?? "",
      /bridge cni0 .*because net\.bridge\.bridge-nf-call-iptables is 0/,
    );
    assert.doesNotMatch(zero.advice ?? "", /virbr0/);
    const absent = checkBridges("IPv4", undefined, bridges, masters);
    assert.match(absent.advice ?? "", /br_netfilter is not loaded/);
  });

  test("no bridge with pods: ok; no list: unknown", () => {
    assert.equal(checkBridges("IPv4", undefined, bridges, []).state, "ok");
    assert.equal(
      checkBridges("IPv4", "0\n", parseBridges({ ...output(""), status: 1 }), []).state,
      "unknown",
    );
  });
});
