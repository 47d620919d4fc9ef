import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import {
  checkPods,
  type LinkFact,
  nextNamespace,
  type Probe,
  parseLinks,
  parseProbe,
} from "./pods.ts";

const RANGE = cidr("241.0.0.0/8");
const UPLINKS = new Set(["eth0"]);

function links(stdout: string): LinkFact | undefined {
  return parseLinks({ status: 0, stdout, stderr: "", missing: false }, UPLINKS);
}

/** `a+ b- c?`: rejected, bypassed, inconclusive. */
function probes(text: string): Probe[] {
  const results = { "+": "rejected", "-": "bypassed", "?": "inconclusive" } as const;
  return text.split(" ").flatMap((word) => {
    const result = results[word.slice(-1) as "+"];
    return result === undefined ? [] : [{ namespace: word.slice(0, -1), result }];
  });
}

describe("the links of a node", () => {
  test("name the namespaces of pods; the uplink's other end is no pod", () => {
    const text = [
      "1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\\    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
      "2: eth0@if5: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000\\    link/ether 1a:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff link-netns router",
      "7: cali1234@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000\\    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netns cni-2f6d",
      "8: veth9@if2: <BROADCAST,UP> mtu 1500 qdisc noqueue master cni0 state UP\\    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netnsid 4",
    ].join("\n");
    assert.deepEqual(links(text), { masters: ["cni0"], namespaces: ["cni-2f6d"] });
  });

  test("a name that would change the path is ignored", () => {
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
    test(`${device} means ${plugin ?? "no plugin"}`, () => {
      assert.equal(links(`7: ${device}: <UP> mtu 1500`)?.plugin, plugin);
    });
  }

  test("are unknown if they cannot be listed", () => {
    assert.equal(
      parseLinks({ status: 1, stdout: "", stderr: "", missing: false }, UPLINKS),
      undefined,
    );
  });
});

describe("the namespace to probe next", () => {
  const three: LinkFact = { masters: [], namespaces: ["a", "b", "c"] };
  for (const [tried, next] of [
    ["", "a"],
    ["a-", "b"],
    ["a- b?", "c"],
    ["b- c- a-", "b"],
    ["a- b+", undefined],
  ] as const) {
    test(`after "${tried}": ${next ?? "none"}`, () => {
      assert.equal(nextNamespace(three, probes(tried)), next);
    });
  }

  test("with a plugin, probes continue after a rejected one, because its settings may change", () => {
    assert.equal(nextNamespace({ ...three, plugin: "cilium" }, probes("a+")), "b");
  });

  test("every namespace is probed once per round, whatever was probed before", async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-f]{1,2}$/), {
      minLength: 1,
      maxLength: 12,
    });
    const before = fc.array(fc.stringMatching(/^[a-f]{1,2}[-?]$/), { maxLength: 20 });
    await forAll([names, before], (namespaces, words) => {
      const tried = probes(words.join(" "));
      const asked = namespaces.map(() => {
        const namespace = nextNamespace({ namespaces, masters: [] }, tried) ?? "";
        tried.push({ namespace, result: "bypassed" });
        return namespace;
      });
      assert.deepEqual(asked.sort(), [...namespaces].sort());
    });
  });
});

describe("whether packets of pods pass our rules", () => {
  const plain: LinkFact = { masters: [], namespaces: ["a", "b", "c", "d"] };
  const cilium: LinkFact = { ...plain, plugin: "cilium" };
  const alone: LinkFact = { masters: [], namespaces: ["a"] };
  for (const [name, fact, tried, reason] of [
    ["no probe", plain, "", "not-tested"],
    ["one probe rejected", plain, "a+", undefined],
    ["one of the last three rejected", plain, "a+ b- c-", undefined],
    ["one bypassed", plain, "a-", "not-tested"],
    ["one pod bypassed repeatedly", plain, "a- a- a- a-", "not-tested"],
    ["three pods bypassed", plain, "a- b- c-", "pods-bypass"],
    ["inconclusive probes do not count", plain, "a- b- c? d?", "not-tested"],
    ["the only pod bypassed", alone, "a- a-", "not-tested"],
    ["no pods", { masters: [], namespaces: [] }, "", "not-tested"],
    ["no list of links", undefined, "", "not-tested"],
    ["Cilium, no probe", cilium, "", "bypass-suspected"],
    ["Cilium, no pods", { masters: [], namespaces: [], plugin: "cilium" }, "", "bypass-suspected"],
    ["Cilium, the only pod bypassed", { ...alone, plugin: "cilium" }, "a-", "pods-bypass"],
    ["Cilium, all bypassed lately", cilium, "a+ b- c- a-", "pods-bypass"],
    ["Cilium, one probe rejected", cilium, "a- b- c- d+", undefined],
  ] as const) {
    test(`${name}: ${reason ?? "ok"}`, () => {
      assert.equal(checkPods(RANGE, fact, probes(tried)).reason, reason);
    });
  }

  test("the advice names the setting of the plugin", () => {
    const calico: LinkFact = { ...plain, plugin: "calico" };
    const advice = (fact: LinkFact) => checkPods(RANGE, fact, probes("a- b- c-")).advice ?? "";
    assert.match(advice(cilium), /bpf\.hostLegacyRouting=true/);
    assert.match(advice(calico), /linuxDataplane to Iptables/);
    assert.doesNotMatch(advice(plain), /Cilium|Calico/);
  });
});

describe("the output of a probe", () => {
  for (const [word, result] of [
    ["ECONNREFUSED", "rejected"],
    ["silence", "bypassed"],
    ["EHOSTUNREACH", "bypassed"],
    ["ENETUNREACH", "bypassed"],
    // A sidecar's proxy accepts every connection of its pod.
    ["connected", "inconclusive"],
    // A rule inside the pod's own namespace.
    ["EPERM", "inconclusive"],
    ["", "inconclusive"],
  ] as const) {
    test(`"${word}": ${result}`, () => {
      const outcome = { status: 0, stdout: `${word}\n`, stderr: "", missing: false };
      assert.equal(parseProbe(outcome), result);
    });
  }

  test("of a program that failed is inconclusive", () => {
    const outcome = { status: 1, stdout: "ECONNREFUSED", stderr: "", missing: false };
    assert.equal(parseProbe(outcome), "inconclusive");
  });
});
