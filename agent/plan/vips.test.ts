import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { address, cidr, nodeFact } from "../../test/support/worlds.ts";
import type { NodeFact } from "../model/facts.ts";
import { planVip } from "./vips.ts";

// The node: ClusterSet CIDRs 241.0.0.0/8 and fd00:241::/108, pods 10.1.0.0/16 and fd10:1::/32, Services
// 10.96.0.0/12, its own address 192.0.2.1.
const NARROW = { explicitVipCidrs: [cidr("198.51.100.0/24"), cidr("2001:db8::/32")] };
const ONLY_4 = { clusterSetCidrs: [cidr("241.0.0.0/8")] };
/** A ClusterSet CIDR cut out of the Service range, as where no other range is to be had. */
const INSIDE = { clusterSetCidrs: [cidr("10.100.0.0/16")] };

const CASES: readonly (readonly [vip: string, reason: string, node?: Partial<NodeFact>])[] = [
  ["241.0.0.10", "programmed"],
  ["241.255.255.255", "programmed"],
  ["fd00:241::7", "programmed"],
  ["1.2.3.4", "programmed"],
  ["240.0.0.1", "programmed"],
  ["10.2.0.1", "programmed"],
  ["2001:db8::1", "programmed"],

  // The API server's ClusterIP, the node itself, a pod, a Service.
  ["10.96.0.1", "vip-reserved"],
  ["192.0.2.1", "vip-reserved"],
  ["10.1.200.7", "vip-reserved"],
  ["10.111.255.255", "vip-reserved"],
  ["fd10:1::5", "vip-reserved"],
  ["127.0.0.1", "vip-reserved"],
  ["127.53.0.53", "vip-reserved"],
  ["::1", "vip-reserved"],
  ["169.254.169.254", "vip-reserved"],
  ["fe80::1", "vip-reserved"],
  ["224.0.0.1", "vip-reserved"],
  ["255.255.255.255", "vip-reserved"],
  ["ff02::1", "vip-reserved"],
  ["0.0.0.0", "vip-reserved"],
  ["::", "vip-reserved"],

  // An address of the node stays the node's, also inside the ClusterSet CIDR.
  ["241.0.0.10", "vip-reserved", { reservedAddresses: new Set(["241.0.0.10"]) }],
  // What the operator set aside for ClusterSetIPs is theirs, Service range or not.
  ["10.100.0.1", "programmed", INSIDE],
  ["10.101.0.1", "vip-reserved", INSIDE],

  ["198.51.100.1", "programmed", NARROW],
  ["2001:db8::1", "programmed", NARROW],
  ["1.2.3.4", "vip-outside", NARROW],
  ["2001:db9::1", "vip-outside", NARROW],
  ["241.0.0.10", "programmed", NARROW],
  // To be listed does not make a reserved address free.
  ["10.96.0.1", "vip-reserved", { explicitVipCidrs: [cidr("10.96.0.0/12")] }],

  ["fd00:241::7", "family-off", ONLY_4],
  ["2001:db8::1", "family-off", ONLY_4],
  ["1.2.3.4", "family-off", { clusterSetCidrs: [cidr("fd00:241::/108")] }],
];

describe("planVip", () => {
  for (const [vip, reason, node] of CASES) {
    const where = node === undefined ? "" : ` with ${Object.keys(node).join(" ")}`;
    test(`${vip} is ${reason}${where}`, () => {
      const planned = planVip(address(vip), new Map(), nodeFact(node));
      assert.deepEqual(planned, { address: vip, reason });
    });
  }

  test("a VIP that another import holds names that import", () => {
    const heldBy = new Map([["241.0.0.10", "demo/old"]] as const);
    assert.deepEqual(planVip(address("241.0.0.10"), heldBy, nodeFact()), {
      address: "241.0.0.10",
      reason: "vip-conflict",
      heldBy: "demo/old",
    });
  });

  test("a VIP that must be nobody's address, and is one, is left alone, whoever holds it", () => {
    const [vip, heldBy] = [address("1.2.3.4"), new Map([["1.2.3.4", "demo/old"]] as const)];
    const planned = planVip(vip, heldBy, nodeFact(), new Set(["1.2.3.4"]));
    assert.deepEqual(planned, { address: "1.2.3.4", reason: "vip-in-use" });
    assert.equal(planVip(vip, new Map(), nodeFact(), new Set(["1.2.3.5"])).reason, "programmed");
  });

  test("a VIP that nobody may use is reserved, whoever claims it first", () => {
    const heldBy = new Map([["10.96.0.1", "demo/old"]] as const);
    assert.equal(planVip(address("10.96.0.1"), heldBy, nodeFact()).reason, "vip-reserved");
  });
});
