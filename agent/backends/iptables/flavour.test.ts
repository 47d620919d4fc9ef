import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeIptables } from "../../../test/doubles/iptables/iptables.ts";
import { homeFact } from "../../../test/packets/address-plan.ts";
import { PACKET_CASES } from "../../../test/packets/cases.ts";
import { modelOf, planOf, transactionOf, wanted } from "../../../test/packets/rendered.ts";
import { checkExtensions } from "../../preflight/preflight.ts";
import { detectFlavour, type FlavourEvidence } from "./flavour.ts";
import { ExtensionTrials } from "./kind.ts";
import { EXTENSIONS } from "./used-extensions.ts";

const evidence = (rules: number, hinted = false): FlavourEvidence => ({
  ...{ rules, hinted },
  unreadable: false,
});
const UNREADABLE: FlavourEvidence = { rules: 0, hinted: false, unreadable: true };

describe("the flavour of a node", () => {
  const CASES = [
    ["with nothing in either", evidence(0), evidence(0), "nft"],
    ["with the kubelet's hint in nft", evidence(1, true), evidence(500), "nft"],
    ["with the kubelet's hint in legacy", evidence(500), evidence(1, true), "legacy"],
    ["with hints in both", evidence(1, true), evidence(500, true), "nft"],
    ["with more rules in legacy", evidence(2), evidence(3), "legacy"],
    ["with as many rules in both", evidence(3), evidence(3), "nft"],
    ["with more rules in nft", evidence(4), evidence(3), "nft"],
    ["with legacy tables that cannot be read", evidence(4), UNREADABLE, "legacy"],
    ["with the kubelet's hint in nft, and such tables", evidence(1, true), UNREADABLE, "nft"],
    ["with nft tables that cannot be read", UNREADABLE, evidence(0), "nft"],
  ] as const;
  for (const [what, nft, legacy, flavour] of CASES) {
    test(`${what} is ${flavour}`, () => assert.equal(detectFlavour({ nft, legacy }), flavour));
  }
});

const NAMES = EXTENSIONS.map(({ name }) => name);
/** Verdicts of the kernel's own, which need no extension. */
const STANDARD = ["ACCEPT", "DROP", "RETURN"];

/** Names of the matches and targets in rules, our own chains left out. */
function extensionsIn(rules: string): Set<string> {
  const words = [...rules.matchAll(/ -[mj] (\S+)/g)].map(([, word = ""]) => word);
  return new Set(words.filter((word) => !word.startsWith("CSP-") && !STANDARD.includes(word)));
}

/** Trials that print this, and the commands that they run. */
function trialsOf(stdout: string, status = 0) {
  const commands: string[][] = [];
  const trials = new ExtensionTrials("legacy", async (argv) => {
    commands.push([...argv]);
    return { status, stdout, stderr: "", missing: false };
  });
  return { trials, commands };
}

/** The result of a trial that prints this, and the command that it runs. */
async function tested(stdout: string, status = 0) {
  const { trials, commands } = trialsOf(stdout, status);
  const rejected = await trials.rejected("IPv6");
  return { rejected, command: commands.flat() };
}

describe("extensions", () => {
  test("tests exactly the extensions that the rules of all packet cases use", () => {
    const needed = new Set<string>();
    for (const one of PACKET_CASES) {
      const node = one.node(homeFact());
      const services = planOf(modelOf(one.objects, node), node);
      for (const { family } of node.clusterSetCidrs) {
        const all = wanted(services, family, node, one.masquerade);
        const text = transactionOf(new FakeIptables(family), all);
        for (const name of extensionsIn(text)) needed.add(name);
      }
    }
    assert.deepEqual([...needed].sort(), [...NAMES].sort());
  });

  test("tests them in a separate network namespace, and without the node's lock", async () => {
    const { command } = await tested("");
    const start = ["env", "XTABLES_LOCKFILE=/dev/null", "unshare", "--net", "sh"];
    assert.deepEqual(command.slice(0, 5), start);
    assert.equal(command.join("\n").split("ip6tables-legacy -t ").length, EXTENSIONS.length + 1);
  });

  test("none is rejected: ok", async () => {
    assert.equal(checkExtensions("IPv4", (await tested("")).rejected).state, "ok");
  });

  test("reports rejected extensions with the tool's message and what is lost", async () => {
    const { rejected } = await tested(
      "sctp: Warning: Extension sctp revision 0 not supported\nrecent: no module: really\nnoise\n",
    );
    assert.deepEqual(
      rejected?.map(({ name, message }) => [name, message]),
      [
        ["sctp", "Warning: Extension sctp revision 0 not supported"],
        ["recent", "no module: really"],
      ],
    );
    const { reason, advice = "" } = checkExtensions("IPv6", rejected);
    assert.equal(reason, "extension-missing");
    assert.match(
      advice,
      /sctp \(needed for SCTP ports; Warning.*recent \(needed for imports with ClientIP affinity;/,
    );
    assert.doesNotMatch(advice, /REJECT/);
  });

  test("are tried once for limits and preflight, and again only if one is rejected", async () => {
    const accepted = trialsOf("");
    const first = [accepted.trials.limits("IPv4"), accepted.trials.rejected("IPv4")];
    await Promise.all([...first, accepted.trials.rejected("IPv6")]);
    assert.equal((await accepted.trials.limits("IPv4")).affinity, true);
    assert.equal(accepted.commands.length, 2, "one for each family");
    const rejecting = trialsOf("recent: no module\n");
    await Promise.all([rejecting.trials.limits("IPv4"), rejecting.trials.rejected("IPv4")]);
    assert.equal(rejecting.commands.length, 1);
    const { affinity, protocols } = await rejecting.trials.limits("IPv4");
    assert.deepEqual([affinity, protocols.size], [false, 3]);
    assert.equal(rejecting.commands.length, 2);
  });

  test("if they cannot be tested, the finding is unknown", async () => {
    for (const status of [1, 127]) {
      const { rejected } = await tested("sctp: x", status);
      assert.equal(checkExtensions("IPv4", rejected).state, "unknown");
    }
  });
});
