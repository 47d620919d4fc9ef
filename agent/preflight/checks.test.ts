import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { requirementsOf } from "../backends/iptables/kind.ts";
import { REQUIREMENTS } from "../backends/ipvs/kind.ts";
import type { Tool } from "../backends/requirements.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { checkBridges, parseBridges } from "./bridges.ts";
import { checkConntrack, parseConntrack } from "./conntrack-table.ts";
import { checkLocks, mountOf } from "./lock-file.ts";
import { parseLinks } from "./pods.ts";
import { checkForwarding, checkTools, parseTool } from "./preflight.ts";
import { checkRoute, parseRoute, routeQuery } from "./route.ts";
import { checkServiceRange, parseServiceRanges } from "./service-range.ts";

function output(stdout: string): ProgramResult {
  return { status: 0, stdout, stderr: "", missing: false };
}

/** What is known of a tool that prints this. */
function fact(tool: Tool | undefined, stdout: string, missing = false) {
  assert.ok(tool);
  return parseTool(tool, { ...output(stdout), status: missing ? undefined : 0, missing });
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

const LOCKS = ["/run/clusterset-agent.lock", "/run/xtables.lock"];
const ROOT = "600 500 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x";
const HOST = [
  "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
  "25 22 0:22 / /run rw,nosuid,nodev shared:2 - tmpfs tmpfs rw,size=1g",
].join("\n");

/** What a container sees if this is mounted into it. */
const container = (mount: string) => `${ROOT}\n601 600 0:22 ${mount} rw - tmpfs tmpfs rw`;
const ONE_FILE = container("/xtables.lock /run/xtables.lock");

describe("lock files", () => {
  for (const [name, mounts, reason] of [
    ["a node itself", HOST, undefined],
    [
      "a node whose root is an overlay",
      `${ROOT}\n25 22 0:22 / /run rw shared:2 - tmpfs tmpfs rw`,
      undefined,
    ],
    ["a container", ROOT, "lock-not-shared"],
    ["a container with the host's /run", container("/ /run"), undefined],
    ["a container with one of the files", ONE_FILE, "lock-not-shared"],
    ["a container with /running", container("/ /running"), "lock-not-shared"],
    ["unreadable mounts", undefined, "not-tested"],
  ] as const) {
    test(`${name}: ${reason ?? "ok"}`, () => {
      assert.equal(checkLocks(LOCKS, mounts).reason, reason);
    });
  }

  test("only files that are not shared are named", () => {
    assert.match(checkLocks(LOCKS, ONE_FILE).advice ?? "", /^\/run\/clusterset-agent\.lock: in/);
  });

  test("the mount of a path is the nearest one, and the last of several there", () => {
    const at = (type: string, point: string) => `1 1 0:1 / ${point} rw - ${type} x rw`;
    const all = [at("ext4", "/"), at("tmpfs", "/a/b"), at("xfs", "/a"), at("btrfs", "/a/b")];
    const mounts = all.join("\n");
    assert.deepEqual(mountOf("/a/b/c", mounts), { point: "/a/b", type: "btrfs" });
    assert.deepEqual(mountOf("/a/bc", mounts), { point: "/a", type: "xfs" });
    assert.equal(mountOf("/a", ""), undefined);
  });

  test("blanks in mount points are unescaped", () => {
    assert.equal(mountOf("/my run/x", "1 1 0:1 / /my\\040run rw - tmpfs x rw")?.type, "tmpfs");
  });
});

describe("forwarding", () => {
  test("off: the advice names the sysctl", () => {
    const finding = checkForwarding("IPv6", "0\n");
    assert.equal(finding.reason, "forwarding-off");
    assert.match(finding.advice ?? "", /net\.ipv6\.conf\.all\.forwarding=1/);
  });

  test("on: ok; a family that the kernel lacks: unknown", () => {
    assert.equal(checkForwarding("IPv4", "1\n").state, "ok");
    assert.equal(checkForwarding("IPv6", undefined).state, "unknown");
  });
});

describe("the connection tracking table", () => {
  for (const [count, limit, state] of [
    ["0\n", "262144\n", "ok"],
    ["90\n", "100\n", "ok"],
    ["91\n", "100\n", "failing"],
    ["100\n", "100\n", "failing"],
    // A limit of 0 is no limit (nf_conntrack_core.c).
    ["100\n", "0\n", "unknown"],
    ["", "100\n", "unknown"],
    [undefined, undefined, "unknown"],
  ] as const) {
    test(`${count?.trim()} of ${limit?.trim()}: ${state}`, () => {
      assert.equal(checkConntrack(parseConntrack(count, limit)).state, state);
    });
  }
});

function ranges(rules: string): string[] {
  const stdout = `table ip kube-proxy {\n\tchain cluster-ips-check {\n${rules}\n\t}\n}\n`;
  return parseServiceRanges(output(stdout)).map(({ text }) => text);
}

describe("the Service ranges of a kube-proxy in nftables mode", () => {
  for (const [name, rules, expected] of [
    [
      "one",
      '\t\tip daddr 10.96.0.0/12 drop comment "Drop traffic to unallocated ClusterIPs"',
      ["10.96.0.0/12"],
    ],
    ["two", "\t\tip daddr { 10.43.0.0/16, 10.96.0.0/12 } drop", ["10.43.0.0/16", "10.96.0.0/12"]],
    ["one, as a set", "\t\tip6 daddr { fd00:10:96::/112 } drop", ["fd00:10:96::/112"]],
    ["ClusterIPs are ignored", '\t\tip daddr @cluster-ips reject comment "Reject"', []],
    ["a range that it rejects is ignored", "\t\tip daddr 10.96.0.0/12 reject", []],
    ["invalid ranges are ignored", "\t\tip daddr { 10.96.0.1/12, what } drop", []],
  ] as const) {
    test(name, () => {
      assert.deepEqual(ranges(rules), expected);
    });
  }
});

describe("whether the ClusterSet CIDR is apart from Services", () => {
  const ours = cidr("241.0.0.0/8");
  for (const [name, kubeProxy, objects, flag, reason] of [
    ["no range known", [], [], [], "not-tested"],
    ["only ranges of the other family", ["fd00::/112"], ["fd00::/112"], [], "not-tested"],
    ["kube-proxy's is apart", ["10.96.0.0/12"], [], [], undefined],
    ["the ServiceCIDR is apart", [], ["10.96.0.0/12"], [], undefined],
    ["the flag's is apart", [], [], ["10.96.0.0/12"], undefined],
    ["kube-proxy's contains ours", ["240.0.0.0/4"], [], [], "service-range-overlap"],
    ["a ServiceCIDR contains ours", [], ["240.0.0.0/4"], [], "service-range-overlap"],
    [
      "kube-proxy's is in ours",
      ["10.96.0.0/12", "241.96.0.0/12"],
      ["10.96.0.0/12"],
      ["10.96.0.0/12"],
      "service-range-overlap",
    ],
    ["a ServiceCIDR is in ours", [], ["10.96.0.0/12", "241.0.0.0/16"], [], "service-range-overlap"],
    ["the flag's is in ours", [], [], ["241.0.0.0/16"], "service-range-overlap"],
  ] as const) {
    test(`${name}: ${reason ?? "ok"}`, () => {
      const listed = { kubeProxy: kubeProxy.map(cidr), objects: objects.map(cidr) };
      assert.equal(checkServiceRange(ours, { ...listed, flag: flag.map(cidr) }).reason, reason);
    });
  }
});

function refused(words: string): ProgramResult {
  return { status: 2, stdout: "", stderr: `RTNETLINK answers: ${words}\n`, missing: false };
}

/** What iproute2 6.1 says, and what is made of it for 241.0.0.0/8 or fd00:241::/108. */
const ROUTES: Readonly<Record<string, readonly [ProgramResult, string]>> = {
  "a default route": [
    output(
      '[{"dst":"241.0.0.1","gateway":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2","flags":[],"uid":0,"cache":[]}]',
    ),
    "ok",
  ],
  "no route": [refused("Network is unreachable"), "no-route"],
  unreachable: [refused("No route to host"), "route-refuses"],
  blackhole: [refused("Invalid argument"), "route-refuses"],
  prohibit: [refused("Permission denied"), "route-refuses"],
  "an address of the node's own": [
    output(
      '[{"type":"local","dst":"241.0.0.1","dev":"lo","prefsrc":"241.0.0.1","flags":[],"uid":0,"cache":["local"]}]',
    ),
    "vip-on-node",
  ],
  "a device without any address": [
    output('[{"dst":"241.0.0.1","dev":"d0","flags":[],"uid":0,"cache":[]}]'),
    "wrong-source",
  ],
  "IPv6 without an address of its own": [
    output(
      '[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"::1","metric":1024,"flags":[],"pref":"medium"}]',
    ),
    "wrong-source",
  ],
  "a link-local source": [
    output('[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"fe80::1","flags":[]}]'),
    "wrong-source",
  ],
  "a ClusterSetIP as source": [
    output('[{"dst":"241.0.0.1","dev":"d0","prefsrc":"241.0.0.9","flags":[]}]'),
    "wrong-source",
  ],
  "no program": [{ status: undefined, stdout: "", stderr: "", missing: true }, "not-tested"],
  busybox: [
    { status: 1, stdout: "", stderr: "ip: unrecognized option: j\n", missing: false },
    "not-tested",
  ],
  "no JSON": [output("241.0.0.1 via 192.0.2.1"), "not-tested"],
  "an empty list": [output("[]"), "not-tested"],
};

describe("the route to ClusterSetIPs", () => {
  for (const [name, [outcome, expected]] of Object.entries(ROUTES)) {
    test(`${name}: ${expected}`, () => {
      const range = name.includes("IPv6") ? "fd00:241::/108" : "241.0.0.0/8";
      const finding = checkRoute(cidr(range), parseRoute(outcome));
      assert.equal(finding.reason ?? "ok", expected);
      if (expected === "route-refuses") assert.match(finding.advice ?? "", new RegExp(name));
      const state = { ok: "ok", "not-tested": "unknown" }[expected] ?? "failing";
      assert.equal(finding.state, state);
    });
  }

  test("the advice is the command that adds a route", () => {
    const { advice } = checkRoute(cidr("fd00:241::/108"), { kind: "none" });
    assert.match(advice ?? "", /ip -6 route add fd00:241::\/108 dev <uplink> src <node address>/);
  });

  test("each family is queried with its own flag", () => {
    assert.deepEqual(routeQuery("fd00::1", "IPv6").slice(0, 2), ["ip", "-6"]);
    assert.deepEqual(routeQuery("241.0.0.1", "IPv4").slice(0, 2), ["ip", "-4"]);
  });

  test("an answer that is no list of objects is no route", () => {
    for (const stdout of ["", "{}", "null", "[null, 1]", "[", '"x"'])
      assert.equal(parseRoute(output(stdout)), undefined);
  });
});

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
    const advice = (text?: string) => checkBridges("IPv4", text, bridges, masters).advice ?? "";
    assert.match(advice("0\n"), /bridge cni0 .*because net\.bridge\.bridge-nf-call-iptables is 0/);
    assert.doesNotMatch(advice("0\n"), /virbr0/);
    assert.match(advice(), /br_netfilter is not loaded/);
  });

  test("no bridge with pods: ok; no list: unknown", () => {
    assert.equal(checkBridges("IPv4", undefined, bridges, []).state, "ok");
    const unlisted = parseBridges({ ...output(""), status: 1 });
    assert.equal(checkBridges("IPv4", "0\n", unlisted, []).state, "unknown");
  });
});
