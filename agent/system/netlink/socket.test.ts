import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { attribute, locate, nested } from "./attributes.ts";
import { CONTROL, familyNumber, familyRequest, genericPayload } from "./generic.ts";
import { ACK, readMessages, request } from "./message.ts";
import { NETLINK, NetlinkSocket } from "./socket.ts";

/** RTM_GETLINK. */
const LINKS = 18;
const FAMILY_ANY = Buffer.alloc(16);

/** This process's sockets of NETLINK.route. */
function sockets(): number {
  const rows = readFileSync("/proc/self/net/netlink", "utf8").split("\n");
  const ofRoute = rows.map((row) => row.trim().split(/\s+/)).filter(([, kind]) => kind === "0");
  const inodes = new Set(ofRoute.map((row) => `socket:[${row.at(-1)}]`));
  return readdirSync("/proc/self/fd").filter((fd) => inodes.has(target(fd))).length;
}

function target(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "";
  }
}

async function links(socket: NetlinkSocket): Promise<number> {
  let found = 0;
  await socket.dump(LINKS, FAMILY_ANY, () => found++);
  return found;
}

test("the same socket serves one piece of work after the other, and two are kept of many at once", async () => {
  const before = sockets();
  // Nothing else in this process uses this kind of them.
  const use = () => NetlinkSocket.use(NETLINK.route, links, { largeReplies: true });
  for (let i = 0; i < 10; i++) assert.ok((await use()) > 0);
  assert.equal(sockets(), before + 1);
  const many = Array.from({ length: 10 }, use);
  for (const found of await Promise.all(many)) assert.ok(found > 0);
  await sleep(50);
  assert.equal(sockets(), before + 2);
});

test("a socket whose work failed is not used again", async () => {
  let failed: NetlinkSocket | undefined;
  const work = NetlinkSocket.use(NETLINK.route, async (socket) => {
    failed = socket;
    throw new Error("failed");
  });
  await assert.rejects(work, /failed/);
  for (let i = 0; i < 3; i++) {
    await NetlinkSocket.use(NETLINK.route, async (socket) => assert.notEqual(socket, failed));
  }
});

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

const bytes = fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value));

test("reading messages ends for any bytes", () =>
  forAll([bytes], (some) => void readMessages(some)));

test("locating an attribute ends for any bytes", () =>
  forAll([bytes, fc.nat(40)], (some, type) => {
    const found = locate(some, { from: 0, to: some.length }, type);
    if (found === undefined) return;
    assert.ok(4 <= found.from && found.from <= found.to && found.to <= some.length);
  }));

test("messages are read as they were written", async () => {
  const one = fc.record({ type: fc.integer({ min: 16, max: 0xffff }), payload: bytes });
  await forAll([fc.array(one)], (messages) => {
    const datagram = messages.map(({ type, payload }, i) => request(type, 0, i, payload));
    assert.deepEqual(
      readMessages(Buffer.concat(datagram)),
      messages.map(({ type, payload }, sequence) => ({
        ...{ kind: "data", sequence, type, payload, interrupted: false },
      })),
    );
  });
});

test("an attribute is found among others, the last of its type", async () => {
  const one = fc.tuple(fc.integer({ min: 1, max: 5 }), bytes);
  await forAll([fc.array(one)], (attributes) => {
    const outer = nested(7, ...attributes.map(([type, value]) => attribute(type, value)));
    const inside = locate(outer, { from: 0, to: outer.length }, 7);
    assert.ok(inside);
    for (const [type, value] of new Map(attributes)) {
      const found = locate(outer, inside, type);
      assert.deepEqual(found && outer.subarray(found.from, found.to), value);
    }
    assert.equal(locate(outer, inside, 6), undefined);
  });
});

test("nothing is found among malformed attributes", () => {
  const good = attribute(1, Buffer.of(1, 2, 3, 4));
  const span = (of: Buffer) => ({ from: 0, to: of.length });
  assert.ok(locate(good, span(good), 1));
  for (const rest of [[0], [3, 0, 1, 0], [9, 0, 1, 0]]) {
    const bad = Buffer.concat([good, Buffer.from(rest)]);
    assert.equal(locate(bad, span(bad), 1), undefined);
  }
});

test("an acknowledgement, an error and the end of a dump", () => {
  const error = (number: number) => {
    const payload = Buffer.alloc(4);
    payload.writeInt32LE(number);
    return request(2, ACK, 9, payload);
  };
  const done = request(3, 0x10, 9, Buffer.alloc(0));
  assert.deepEqual(
    readMessages(Buffer.concat([error(0), error(-2), done]))?.map((reply) =>
      reply.kind === "end" ? [reply.sequence, reply.errno, reply.interrupted] : [],
    ),
    [
      [9, 0, false],
      [9, 2, false],
      [9, 0, true],
    ],
  );
});
