import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { address, cidr, nodeFact } from "../../test/generators/facts.ts";
import type { NodeFact } from "../model/facts.ts";
import { planVip } from "./plan.ts";

// The node: ClusterSet CIDRs 241.0.0.0/8 and fd00:241::/108, pods 10.1.0.0/16 and fd10:1::/32, Services
// 10.96.0.0/12, its own address 192.0.2.1/24.
const NARROW = { explicitVipCidrs: [cidr("198.51.100.0/24"), cidr("2001:db8::/32")] };
const ANY = { explicitVipCidrs: [cidr("0.0.0.0/0"), cidr("::/0")] };
const IN_CLUSTER = {
  ...ANY,
  network: {
    ranges: [cidr("10.9.4.0/24"), cidr("172.30.0.0/16")],
    addresses: new Set(["172.20.1.12", "203.0.113.6"]),
  },
};
const ONLY_4 = { clusterSetCidrs: [cidr("241.0.0.0/8")] };
/** A ClusterSet CIDR cut out of the Service range, as where no other range is to be had. */
const INSIDE = { clusterSetCidrs: [cidr("10.100.0.0/16")] };

const CASES: readonly (readonly [vip: string, reason: string, node?: Partial<NodeFact>])[] = [
  ["241.0.0.10", "programmed"],
  ["241.255.255.255", "programmed"],
  ["fd00:241::7", "programmed"],
  // No other range is allowed.
  ["1.2.3.4", "vip-not-allowed"],
  ["240.0.0.1", "vip-not-allowed"],
  ["8.8.8.8", "vip-not-allowed"],
  ["168.63.129.16", "vip-not-allowed"],
  ["2001:db8::1", "vip-not-allowed"],

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
  ["1.2.3.4", "vip-not-allowed", NARROW],
  ["2001:db9::1", "vip-not-allowed", NARROW],
  ["241.0.0.10", "programmed", NARROW],
  ["1.2.3.4", "programmed", ANY],
  ["2001:db8::1", "programmed", ANY],
  // An address in use stays reserved if its range is allowed: a Service's, a pod's, one of the node's subnets, another Node's
  // address and pods, the cluster's DNS, the API server.
  ["10.96.0.1", "vip-reserved", ANY],
  ["10.1.200.7", "vip-reserved", ANY],
  ["192.0.2.77", "vip-reserved", ANY],
  ["172.20.1.12", "vip-reserved", IN_CLUSTER],
  ["10.9.4.1", "vip-reserved", IN_CLUSTER],
  ["172.30.0.10", "vip-reserved", IN_CLUSTER],
  ["203.0.113.6", "vip-reserved", IN_CLUSTER],
  ["203.0.113.7", "programmed", IN_CLUSTER],

  ["fd00:241::7", "family-off", ONLY_4],
  ["2001:db8::1", "family-off", ONLY_4],
  ["1.2.3.4", "family-off", { clusterSetCidrs: [cidr("fd00:241::/108")] }],
];

describe("planVip", () => {
  for (const [vip, reason, node] of CASES) {
    const where = node === undefined ? "" : ` with ${Object.keys(node).join(" ")}`;
    test(`${vip} is ${reason}${where}`, () => {
      const planned = planVip(address(vip), new Map(), nodeFact({ explicitVipCidrs: [], ...node }));
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

  test("a VIP that must not be an endpoint address, but is one, is not programmed, whatever its holder", () => {
    const [vip, heldBy] = [address("1.2.3.4"), new Map([["1.2.3.4", "demo/old"]] as const)];
    const planned = planVip(vip, heldBy, nodeFact(ANY), new Set(["1.2.3.4"]));
    assert.deepEqual(planned, { address: "1.2.3.4", reason: "vip-in-use" });
    assert.equal(planVip(vip, new Map(), nodeFact(ANY), new Set(["1.2.3.5"])).reason, "programmed");
  });

  test("an explicit VIP in a peer's endpoint ranges is reserved; a range of all addresses reserves none", () => {
    const reason = (...ranges: readonly string[]) => {
      const endpointRanges = new Map([["c2", ranges.map(cidr)]]);
      return planVip(address("1.2.3.4"), new Map(), nodeFact({ ...ANY, endpointRanges })).reason;
    };
    assert.equal(reason("10.2.0.0/16", "1.2.3.0/24"), "vip-reserved");
    assert.equal(reason("10.2.0.0/16", "0.0.0.0/0"), "programmed");
  });

  test("a reserved VIP is reserved, whatever its holder", () => {
    const heldBy = new Map([["10.96.0.1", "demo/old"]] as const);
    assert.equal(planVip(address("10.96.0.1"), heldBy, nodeFact()).reason, "vip-reserved");
  });
});
