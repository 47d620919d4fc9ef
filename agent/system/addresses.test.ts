import assert from "node:assert/strict";
import { test } from "node:test";
import { interfaceAddresses, VIP_DEVICE } from "./addresses.ts";

test("VIPs on our device are not addresses of the node", () => {
  const interfaces = {
    lo: [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }],
    [VIP_DEVICE]: [{ address: "241.0.0.10", cidr: "241.0.0.10/32" }],
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
