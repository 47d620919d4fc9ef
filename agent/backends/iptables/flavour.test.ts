import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { detectFlavour, type FlavourEvidence, toolsOf } from "./flavour.ts";

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

describe("the tools", () => {
  test("are those of the flavour and the family", () => {
    assert.deepEqual(toolsOf("nft", "IPv4"), {
      list: ["iptables-nft"],
      save: ["iptables-nft-save"],
      restore: ["iptables-nft-restore"],
    });
    assert.deepEqual(toolsOf("legacy", "IPv6"), {
      list: ["ip6tables-legacy"],
      save: ["ip6tables-legacy-save"],
      restore: ["ip6tables-legacy-restore"],
    });
  });

  test("are started with the command that enters another network namespace", () => {
    assert.deepEqual(toolsOf("nft", "IPv4", ["nsenter", "--net=/x"]).save, [
      "nsenter",
      "--net=/x",
      "iptables-nft-save",
    ]);
  });
});
