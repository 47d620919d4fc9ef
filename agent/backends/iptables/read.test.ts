import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import type { Argv } from "../../system/program-result.ts";
import type { Held } from "../objects.ts";
import type { Tools } from "./flavour.ts";
import { IptablesLayout } from "./layout.ts";
import { chainLister } from "./list.ts";
import { SaveParser } from "./listing.ts";
import { BASES, type ChainKey } from "./object-id.ts";
import { readBack } from "./read.ts";
import { digestOf } from "./rules.ts";

const SAVE = `
case "$1 $2" in
  "-t nat") echo ":CSP-A - [0:0]"; echo "-A OUTPUT -j CSP-A" ;;
  "-t filter") echo ":CSP-GUARD - [0:0]"; echo ":KUBE-FORWARD - [0:0]" ;;
  *) exit 2 ;;
esac
`;

function tools(save: string): Pick<Tools, "list" | "save"> {
  return { list: ["true"], save: ["sh", "-c", save, "save"] };
}

test("reads both tables of a flavour, one after the other", async () => {
  const { held, bases } = await readBack(tools(SAVE));
  assert.deepEqual([...held.keys()], ["filter CSP-GUARD", "nat CSP-A", "nat OUTPUT -j CSP-A"]);
  const rules = [...bases].filter(([, lines]) => lines?.length !== 0);
  assert.deepEqual(rules, [["nat OUTPUT", ["-A OUTPUT -j CSP-A"]]]);
});

test("rejects if a part of a table cannot be read", async () => {
  const save = "echo \"# Table \\`$2' is incompatible, use 'nft' tool.\"";
  await assert.rejects(readBack(tools(save)), {
    code: "CSP_TABLE_UNREADABLE",
    message: /see nft list table ip filter$/,
  });
  await assert.rejects(readBack(tools('echo ":CSP-A - [0:0]"; exit 4')), {
    code: "CSP_EXEC_FAILED",
  });
  await assert.rejects(readBack({ list: ["true"], save: ["/nonexistent/iptables-save"] }), {
    code: "CSP_EXEC_MISSING",
  });
});

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
const LEGACY = `
case "$2" in
  nat) printf '%s\\n' '*nat' ':OUTPUT ACCEPT [1:2]' ':CSP-A - [0:0]' ':CSP-AB - [0:0]' '-A OUTPUT -j CSP-A' '-A CSP-A -j RETURN' '-A CSP-AB -j ACCEPT' COMMIT ;;
  filter) printf '%s\\n' '*filter' ':CSP-A - [0:0]' COMMIT ;;
esac`;

describe("chains of the legacy flavour", () => {
  test("are picked from one listing of each table", async () => {
    const listing = await lister("legacy", LEGACY)(KEYS, all, undefined);
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
    const broken = lister("legacy", `${LEGACY}\nexit 1`);
    await assert.rejects(broken(KEYS, all, undefined), { code: "CSP_EXEC_FAILED" });
  });

  test("are not waited for once the listing is stopped", async () => {
    const stop = new AbortController();
    const listing = lister("legacy", "sleep 60")(KEYS, all, stop.signal);
    stop.abort();
    await assert.rejects(listing);
  });
});

function parsed(text: string, withEntries = false): Held {
  const held: Held = new Map();
  const parser = new SaveParser("nat", held, withEntries);
  for (const line of text.split("\n")) parser.line(line);
  parser.end();
  return held;
}

test("reads only our chains and jumps from a node's table", () => {
  const text = `# Generated by iptables-save v1.8.9 (nf_tables) on Sat Nov 21 10:00:00 2026
*nat
:PREROUTING ACCEPT [17:1020]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:CSP-SERVICES - [0:0]
:CSP-EMPTY - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-CSP-FAKE - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
-A OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
-A CSP-SERVICES -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -j RETURN
-A CSP-SERVICES -d 241.0.0.11/32 -j RETURN
-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j KUBE-SVC-CSP-FAKE
-A KUBE-SERVICES -j CSP-SERVICES
-A KUBE-SERVICES -g CSP-EMPTY
COMMIT
# Completed on Sat Nov 21 10:00:00 2026
`;
  assert.deepEqual(
    [...parsed(text)].map(([id, { digest }]) => [id, digest]),
    [
      [
        "nat CSP-SERVICES",
        digestOf([
          '-A CSP-SERVICES -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -j RETURN',
          "-A CSP-SERVICES -d 241.0.0.11/32 -j RETURN",
        ]),
      ],
      ["nat CSP-EMPTY", digestOf([])],
      ["nat PREROUTING -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES", "1"],
      ["nat OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES", "1"],
      ["nat KUBE-SERVICES -j CSP-SERVICES", "1"],
      ["nat KUBE-SERVICES -g CSP-EMPTY", "1"],
    ],
  );
});

test("reads the import of each VIP and port from the rules for it", () => {
  const chains = ["CSP-SERVICES", "CSP-SERVICES-04", "CSP-SERVICES-07", "CSP-HAIRPIN", "CSP-SVC-A"];
  const text = [
    ...chains.map((name) => `:${name} - [0:0]`),
    '-A CSP-SERVICES -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -g CSP-SVC-A',
    '-A CSP-SERVICES-04 -d 1.2.3.4/32 -p udp -m udp --dport 53 -m comment --comment "demo/dns:dns no-endpoint" -j RETURN',
    "-A CSP-SERVICES-07 -d fd00:241::7/128 -p tcp -m tcp --dport 80 -m comment --comment demo/six:80 -g CSP-SVC-B",
    "-A CSP-HAIRPIN -s 0.0.0.0/0.0.0.1 -d 0.0.0.1/0.0.0.1 -j RETURN",
    '-A CSP-SVC-A -p tcp -m comment --comment "demo/serve:http local c1" -j DNAT --to-destination 10.1.0.7:80',
  ].join("\n");
  const held = parsed(text, true);
  assert.deepEqual(
    [...held.values()].flatMap(({ entries }) => [...(entries ?? [])]),
    [
      ["f100000a TCP 80", "demo/serve"],
      ["01020304 UDP 53", "demo/dns"],
      ["fd000241000000000000000000000007 TCP 80", "demo/six"],
    ],
  );
  const layout = new IptablesLayout({
    ...{ family: "IPv4", clusterSetCidrs: [], explicitVipCidrs: [] },
    masquerade: { mode: "none", podCidrs: [] },
  });
  const programmed = layout.programmed(held);
  assert.deepEqual([[...programmed.destinations].length, programmed.size], [3, 1]);
  assert.equal(programmed.holder("241.0.0.10"), "demo/serve");
  assert.equal(programmed.holder("241.0.0.11"), undefined);
});

describe("a foreign rule is not ours", () => {
  const FOREIGN = [
    '-A INPUT -m comment --comment "see -j CSP-GUARD" -j ACCEPT',
    '-A INPUT -m comment --comment "-j CSP-GUARD"',
    '-A INPUT -m comment --comment " -j CSP-GUARD "',
    '-A INPUT -m comment --comment "\\" -j CSP-GUARD" -j ACCEPT',
    '-A INPUT -m comment --comment "\\\\" -m comment --comment " -j CSP-GUARD"',
    '-A INPUT -j LOG --log-prefix "x -j CSP-GUARD "',
    '-A INPUT -j NFLOG --nflog-prefix "a -g CSP-GUARD b"',
    "-A INPUT -m comment --comment CSP-GUARD -j ACCEPT",
    "-A INPUT -j MY-CSP-GUARD",
    "-A INPUT -m set --match-set CSP-SET src -j ACCEPT",
    "-A XCSP-A -j ACCEPT",
    ":MY-CSP-A - [0:0]",
    "# -A INPUT -j CSP-GUARD",
    "[0:0] -A INPUT -j CSP-GUARD",
  ];
  for (const line of FOREIGN) {
    test(line, () => assert.equal(parsed(line).size, 0));
  }

  test("whatever its comment says", () =>
    forAll([fc.string({ unit: "grapheme-ascii", maxLength: 60 })], (text) => {
      const quoted = `${text} -j CSP-GUARD ${text}`.replace(/["\\]/g, "\\$&");
      const line = `-A INPUT -m comment --comment "${quoted}" -j ACCEPT`;
      assert.equal(parsed(line).size, 0);
      const ours = `-A INPUT -m comment --comment "${quoted}" -j CSP-GUARD`;
      assert.deepEqual([...parsed(ours).keys()], [`nat ${ours.slice(3)}`]);
    }));
});

test("a rule that is added to a chain of ours changes its digest", () => {
  const own = ":CSP-A - [0:0]\n-A CSP-A -j RETURN";
  const digest = (text: string) => parsed(text).get("nat CSP-A")?.digest;
  assert.notEqual(digest(own), digest(`${own}\n-A CSP-A -j ACCEPT`));
});
