import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { checkServiceRange, parseServiceRanges } from "./service-range.ts";

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
      const fact = {
        kubeProxy: kubeProxy.map(cidr),
        objects: objects.map(cidr),
        flag: flag.map(cidr),
      };
      assert.equal(checkServiceRange(ours, fact).reason, reason);
    });
  }
});
