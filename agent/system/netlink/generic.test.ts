import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "./attributes.ts";
import { CONTROL, familyNumber, familyRequest, genericPayload } from "./generic.ts";
import { NETLINK, NetlinkSocket } from "./socket.ts";

test("a family's number is read from the kernel's answer only", () => {
  assert.equal(familyNumber(genericPayload(1, 2, attribute(1, Buffer.of(0x21, 0)))), 0x21);
  assert.equal(familyNumber(genericPayload(1, 2, attribute(2, Buffer.of(0x21, 0)))), undefined);
  assert.equal(familyNumber(genericPayload(1, 2, attribute(1, Buffer.of(0x21)))), undefined);
  assert.equal(familyNumber(Buffer.alloc(3)), undefined);
});

test("the kernel resolves its control family by name, and no unknown name", async () => {
  const socket = await NetlinkSocket.open(NETLINK.generic);
  const ask = async (name: string) => {
    const numbers: (number | undefined)[] = [];
    const errno = await socket.ask(CONTROL, familyRequest(name), (payload) => {
      numbers.push(familyNumber(payload));
    });
    return { errno, numbers };
  };
  try {
    assert.deepEqual(await ask("nlctrl"), { errno: 0, numbers: [CONTROL] });
    assert.deepEqual(await ask("csp-nobody"), { errno: 2, numbers: [] });
  } finally {
    socket.close();
  }
});
