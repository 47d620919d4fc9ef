import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cidr } from "../../test/support/worlds.ts";
import {
  type Attempt,
  judgePods,
  type LinkFact,
  nextNamespace,
  parseKnock,
  parseLinks,
} from "./pods.ts";

const RANGE = cidr("241.0.0.0/8");
const UPLINKS = new Set(["eth0"]);

function links(stdout: string): LinkFact | undefined {
  return parseLinks({ status: 0, stdout, stderr: "", missing: false }, UPLINKS);
}

/** `a+ b- c?`: met, unmet, unclear. */
function attempts(text: string): Attempt[] {
  const results = { "+": "met", "-": "unmet", "?": "unclear" } as const;
  return text.split(" ").flatMap((word) => {
    const result = results[word.slice(-1) as "+"];
    return result === undefined ? [] : [{ namespace: word.slice(0, -1), result }];
  });
}

describe("the links of a node", () => {
  test("those of pods name the pods' namespaces; the uplink's other end is no pod", () => {
    const text = [
      "1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\\    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
      "2: eth0@if5: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000\\    link/ether 1a:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff link-netns router",
      "7: cali1234@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000\\    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netns cni-2f6d",
      "8: veth9@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue master cni0 state UP\\    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netnsid 4",
    ].join("\n");
    assert.deepEqual(links(text), { namespaces: ["cni-2f6d"] });
  });

  test("a name that would lead a path elsewhere is no namespace", () => {
    for (const name of ["../../etc", "..", "-x", "/x"]) {
      assert.deepEqual(
        links(`7: v@if2: <UP> mtu 1\\ link/ether x link-netns ${name}`)?.namespaces,
        [],
      );
    }
  });

  for (const [device, plugin] of [
    ["cilium_host@cilium_net", "cilium"],
    ["bpfin.cali@bpfout.cali", "calico"],
    ["bpfnatin@bpfnatout", "calico"],
    ["cali1234@if2", undefined],
    ["lxc1234@if2", undefined],
  ] as const) {
    test(`${device} is a sign of ${plugin ?? "nothing"}`, () => {
      assert.equal(links(`7: ${device}: <UP> mtu 1500`)?.plugin, plugin);
    });
  }

  test("that cannot be listed are unknown", () => {
    assert.equal(
      parseLinks({ status: 1, stdout: "", stderr: "", missing: false }, UPLINKS),
      undefined,
    );
  });
});

describe("whose turn it is", () => {
  const three: LinkFact = { namespaces: ["a", "b", "c"] };
  for (const [tried, next] of [
    ["", "a"],
    ["a-", "b"],
    ["a- b?", "c"],
    ["b- c- a-", "b"],
    ["a- b+", undefined],
  ] as const) {
    test(`after "${tried}": ${next ?? "nobody's"}`, () => {
      assert.equal(nextNamespace(three, attempts(tried)), next);
    });
  }

  test("a plugin may change its mind: there it goes on after a proof", () => {
    assert.equal(nextNamespace({ ...three, plugin: "cilium" }, attempts("a+")), "b");
  });

  test("everybody's turn comes within one round, whoever comes and goes", () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-f]{1,2}$/), {
      minLength: 1,
      maxLength: 12,
    });
    const before = fc.array(fc.stringMatching(/^[a-f]{1,2}[-?]$/), { maxLength: 20 });
    fc.assert(
      fc.property(names, before, (namespaces, words) => {
        const tried = attempts(words.join(" "));
        const asked = namespaces.map(() => {
          const namespace = nextNamespace({ namespaces }, tried) ?? "";
          tried.push({ namespace, result: "unmet" });
          return namespace;
        });
        assert.deepEqual(asked.sort(), [...namespaces].sort());
      }),
    );
  });
});

describe("whether pods meet the rules", () => {
  const plain: LinkFact = { namespaces: ["a", "b", "c", "d"] };
  const cilium: LinkFact = { ...plain, plugin: "cilium" };
  const alone: LinkFact = { namespaces: ["a"] };
  for (const [name, fact, tried, reason] of [
    ["nobody was tried", plain, "", "not-tested"],
    ["one met them", plain, "a+", undefined],
    ["one of the last three met them", plain, "a+ b- c-", undefined],
    ["one did not", plain, "a-", "not-tested"],
    ["the same one again and again", plain, "a- a- a- a-", "not-tested"],
    ["three did not", plain, "a- b- c-", "pods-bypass"],
    ["what is unclear does not count", plain, "a- b- c? d?", "not-tested"],
    ["there is one pod only, and it did not", alone, "a- a-", "not-tested"],
    ["there are no pods", { namespaces: [] }, "", "not-tested"],
    ["links cannot be listed", undefined, "", "not-tested"],
    ["Cilium, nobody was tried", cilium, "", "bypass-suspected"],
    ["Cilium, no pods", { namespaces: [], plugin: "cilium" }, "", "bypass-suspected"],
    ["Cilium, the only pod did not", { ...alone, plugin: "cilium" }, "a-", "pods-bypass"],
    ["Cilium, they did once", cilium, "a+ b- c- a-", "pods-bypass"],
    ["Cilium, one met them", cilium, "a- b- c- d+", undefined],
  ] as const) {
    test(`${name}: ${reason ?? "well"}`, () => {
      assert.equal(judgePods(RANGE, fact, attempts(tried)).reason, reason);
    });
  }

  test("the advice names the setting of the plugin that is there", () => {
    const calico: LinkFact = { ...plain, plugin: "calico" };
    const advice = (fact: LinkFact) => judgePods(RANGE, fact, attempts("a- b- c-")).advice ?? "";
    assert.match(advice(cilium), /bpf\.hostLegacyRouting=true/);
    assert.match(advice(calico), /linuxDataplane to Iptables/);
    assert.doesNotMatch(advice(plain), /Cilium|Calico/);
  });
});

describe("what a knock says", () => {
  for (const [word, result] of [
    ["ECONNREFUSED", "met"],
    ["silence", "unmet"],
    ["EHOSTUNREACH", "unmet"],
    ["ENETUNREACH", "unmet"],
    // A sidecar's proxy takes every connection of its pod.
    ["connected", "unclear"],
    // A rule inside the pod's own namespace.
    ["EPERM", "unclear"],
    ["", "unclear"],
  ] as const) {
    test(`"${word}" is ${result}`, () => {
      const outcome = { status: 0, stdout: `${word}\n`, stderr: "", missing: false };
      assert.equal(parseKnock(outcome), result);
    });
  }

  test("a program that failed says nothing", () => {
    const outcome = { status: 1, stdout: "ECONNREFUSED", stderr: "", missing: false };
    assert.equal(parseKnock(outcome), "unclear");
  });
});
