import assert from "node:assert/strict";
import { test } from "node:test";
import { interfaceAddresses, VIP_DEVICE } from "./addresses.ts";

test("VIPs on our own device are not addresses of the node", () => {
  const interfaces = {
    lo: [{ address: "127.0.0.1" }],
    [VIP_DEVICE]: [{ address: "241.0.0.10" }],
    eth0: [{ address: "172.20.1.11" }, { address: "fd00::1" }],
  };
  assert.deepEqual(interfaceAddresses(interfaces), ["127.0.0.1", "172.20.1.11", "fd00::1"]);
});

test("of this machine they are known without being told", () => {
  assert.ok(interfaceAddresses().includes("127.0.0.1"));
});
