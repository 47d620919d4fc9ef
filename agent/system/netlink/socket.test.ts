import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NETLINK, NetlinkSocket } from "./socket.ts";

/** RTM_GETLINK. */
const LINKS = 18;
const FAMILY_ANY = Buffer.alloc(16);

function sockets(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.startsWith("socket:")).length;
}

async function links(socket: NetlinkSocket): Promise<number> {
  let found = 0;
  await socket.dump(LINKS, FAMILY_ANY, () => found++);
  return found;
}

test("the same socket serves one piece of work after the other, and two are kept of many at once", async () => {
  const before = sockets();
  for (let i = 0; i < 10; i++) assert.ok((await NetlinkSocket.use(NETLINK.route, links)) > 0);
  assert.equal(sockets(), before + 1);
  const many = Array.from({ length: 10 }, () => NetlinkSocket.use(NETLINK.route, links));
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
