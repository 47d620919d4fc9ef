import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { homeFact } from "../../test/packets/address-plan.ts";
import { PACKET_CASES } from "../../test/packets/cases.ts";
import { modelOf, planOf, wanted } from "../../test/packets/rendered.ts";
import { diff } from "../backends/iptables/diff.ts";
import { EXTENSIONS, extensionTrial, judgeExtensions, parseTrial } from "./extensions.ts";

const NAMES = EXTENSIONS.map(({ name }) => name);
/** Verdicts of the kernel's own, which need no extension. */
const STANDARD = ["ACCEPT", "DROP", "RETURN"];

/** Names of the matches and targets in rules, our own chains left out. */
function extensionsIn(rules: string): Set<string> {
  const words = [...rules.matchAll(/ -[mj] (\S+)/g)].map(([, word = ""]) => word);
  return new Set(words.filter((word) => !word.startsWith("CSP-") && !STANDARD.includes(word)));
}

function said(stdout: string, status = 0) {
  return { status, stdout, stderr: "", missing: false };
}

describe("extensions", () => {
  test("everything that any rule of any packet case needs is tried, and nothing else", () => {
    const needed = new Set<string>();
    for (const one of PACKET_CASES) {
      const node = one.node(homeFact());
      const services = planOf(modelOf(one.objects, node), node);
      for (const { family } of node.clusterSetCidrs) {
        const tx = diff(
          { chains: new Map(), jumps: [] },
          wanted(services, family, node, one.masquerade),
        );
        for (const name of extensionsIn(tx.toString())) needed.add(name);
      }
    }
    assert.deepEqual([...needed].sort(), [...NAMES].sort());
  });

  test("each is tried by a rule that names it", () => {
    for (const family of FAMILIES) {
      for (const { name, rule } of EXTENSIONS) {
        assert.ok(extensionsIn(` ${rule(family)}`).has(name), name);
      }
    }
  });

  test("they are tried in a network namespace of their own, and without the node's lock", () => {
    const trial = extensionTrial("ip6tables-legacy", "IPv6");
    assert.deepEqual(trial.slice(0, 5), [
      "env",
      "XTABLES_LOCKFILE=/dev/null",
      "unshare",
      "--net",
      "sh",
    ]);
    assert.equal(trial.join("\n").split("ip6tables-legacy -t ").length, EXTENSIONS.length + 1);
  });

  test("all are known: well", () => {
    assert.equal(judgeExtensions("IPv4", parseTrial(said(""))).state, "well");
  });

  test("what is refused is named with the tool's words and what is lost", () => {
    const refused = parseTrial(
      said(
        "sctp: Warning: Extension sctp revision 0 not supported\nrecent: no module: really\nnoise\n",
      ),
    );
    assert.deepEqual(
      [...(refused ?? [])],
      [
        ["sctp", "Warning: Extension sctp revision 0 not supported"],
        ["recent", "no module: really"],
      ],
    );
    const { reason, advice = "" } = judgeExtensions("IPv6", refused);
    assert.equal(reason, "extension-missing");
    assert.match(
      advice,
      /sctp \(needed for SCTP ports; Warning.*recent \(needed for imports with ClientIP affinity;/,
    );
    assert.doesNotMatch(advice, /REJECT/);
  });

  test("where they cannot be tried, nothing is said", () => {
    for (const status of [1, 127]) {
      assert.equal(judgeExtensions("IPv4", parseTrial(said("sctp: x", status))).state, "unknown");
    }
  });
});
