import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
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
