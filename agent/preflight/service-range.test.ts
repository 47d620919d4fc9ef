import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/support/worlds.ts";
import { judgeServiceRange, parseServiceRanges } from "./service-range.ts";

function ranges(rules: string): string[] {
  const stdout = `table ip kube-proxy {\n\tchain cluster-ips-check {\n${rules}\n\t}\n}\n`;
  return parseServiceRanges({ status: 0, stdout, stderr: "", missing: false }).map(
    ({ text }) => text,
  );
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
    ["its ClusterIPs are none", '\t\tip daddr @cluster-ips reject comment "Reject"', []],
    ["what it rejects is none", "\t\tip daddr 10.96.0.0/12 reject", []],
    ["what cannot be read is none", "\t\tip daddr { 10.96.0.1/12, what } drop", []],
  ] as const) {
    test(name, () => {
      assert.deepEqual(ranges(rules), expected);
    });
  }
});

describe("whether the ClusterSet CIDR is apart from Services", () => {
  const ours = cidr("241.0.0.0/8");
  for (const [name, kubeProxy, objects, flag, reason] of [
    ["nothing is known", [], [], [], "not-tested"],
    ["only the other family is known", ["fd00::/112"], ["fd00::/112"], [], "not-tested"],
    ["kube-proxy's is another", ["10.96.0.0/12"], [], [], undefined],
    ["the cluster's is another", [], ["10.96.0.0/12"], [], undefined],
    ["the operator's is another", [], [], ["10.96.0.0/12"], undefined],
    ["kube-proxy's contains ours", ["240.0.0.0/4"], [], [], "service-range-overlap"],
    ["the cluster's contains ours", [], ["240.0.0.0/4"], [], "service-range-overlap"],
    [
      "kube-proxy's lies in ours",
      ["10.96.0.0/12", "241.96.0.0/12"],
      ["10.96.0.0/12"],
      ["10.96.0.0/12"],
      "service-range-overlap",
    ],
    [
      "one of the cluster's does",
      [],
      ["10.96.0.0/12", "241.0.0.0/16"],
      [],
      "service-range-overlap",
    ],
    ["the operator's does", [], [], ["241.0.0.0/16"], "service-range-overlap"],
  ] as const) {
    test(`${name}: ${reason ?? "well"}`, () => {
      const fact = {
        kubeProxy: kubeProxy.map(cidr),
        objects: objects.map(cidr),
        flag: flag.map(cidr),
      };
      assert.equal(judgeServiceRange(ours, fact).reason, reason);
    });
  }
});
