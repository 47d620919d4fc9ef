import assert from "node:assert/strict";
import { test } from "node:test";
import { interfaceAddresses, VIP_DEVICE } from "./addresses.ts";

test("addresses of Services, on our device and those of others, are not addresses of the node", () => {
  const interfaces = {
    lo: [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }],
    [VIP_DEVICE]: [{ address: "241.0.0.10", cidr: "241.0.0.10/32" }],
    "kube-ipvs0": [{ address: "241.0.0.7", cidr: "241.0.0.7/32" }],
    "kube-dummy-if": [{ address: "241.0.0.8", cidr: "241.0.0.8/32" }],
    eth0: [
      { address: "172.20.1.11", cidr: "172.20.1.11/16" },
      { address: "fd00::1", cidr: null },
    ],
  };
  const addresses = ["127.0.0.1/8", "172.20.1.11/16", "fd00::1"];
  assert.deepEqual(interfaceAddresses(interfaces), addresses);
});

test("the default is the interfaces of this machine", () => {
  assert.ok(interfaceAddresses().includes("127.0.0.1/8"));
});
