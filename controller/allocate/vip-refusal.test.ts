import assert from "node:assert/strict";
import { test } from "node:test";
import { planVip } from "../../agent/plan/vips.ts";
import type { Cidr } from "../../api/cidr.ts";
import { address, cidr, nodeFact } from "../../test/generators/facts.ts";
import { vipRefusal } from "./vip-refusal.ts";

const VIPS = [
  ...["241.0.0.10", "240.0.0.1", "1.2.3.4", "8.8.8.8", "127.0.0.1", "169.254.169.254"],
  ...["224.0.0.1", "255.255.255.255", "0.0.0.0", "10.96.0.10"],
  ...["fd00:241::7", "fd00:242::7", "2001:db8::1", "::1", "fe80::1", "ff02::1", "::"],
];

const RANGES: readonly (readonly Cidr[])[] = [
  [cidr("241.0.0.0/8"), cidr("fd00:241::/108")],
  [cidr("241.0.0.0/8")],
  [cidr("fd00:241::/108")],
];

const EXPLICIT: readonly (readonly Cidr[])[] = [
  [],
  [cidr("1.2.3.0/24"), cidr("2001:db8::/32")],
  [cidr("0.0.0.0/0"), cidr("::/0")],
];

test("the controller refuses exactly the VIPs that an agent refuses where nothing else uses an address", () => {
  const unused = {
    podCidrs: [],
    serviceCidrs: [],
    subnets: [],
    reservedAddresses: new Set<string>(),
  };
  for (const clusterSetCidrs of RANGES) {
    for (const explicitVipCidrs of EXPLICIT) {
      const node = nodeFact({ ...unused, clusterSetCidrs, explicitVipCidrs });
      for (const vip of VIPS.map(address)) {
        const { reason } = planVip(vip, new Map(), node);
        const refusal = vipRefusal(vip, clusterSetCidrs, explicitVipCidrs);
        assert.equal(refusal ?? "programmed", reason, vip.text);
      }
    }
  }
});
