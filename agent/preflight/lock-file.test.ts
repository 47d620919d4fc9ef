import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkLocks, mountOf } from "./lock-file.ts";

const LOCKS = ["/run/clusterset-agent.lock", "/run/xtables.lock"];
const ROOT = "600 500 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x";
const HOST = [
  "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
  "25 22 0:22 / /run rw,nosuid,nodev shared:2 - tmpfs tmpfs rw,size=1g",
].join("\n");

describe("lock files", () => {
  for (const [name, mounts, reason] of [
    ["a node itself", HOST, undefined],
    [
      "a node whose root is an overlay",
      `${ROOT}\n25 22 0:22 / /run rw shared:2 - tmpfs tmpfs rw`,
      undefined,
    ],
    ["a container", ROOT, "lock-not-shared"],
    [
      "a container with the host's /run",
      `${ROOT}\n601 600 0:22 / /run rw - tmpfs tmpfs rw`,
      undefined,
    ],
    [
      "a container with one of the files",
      `${ROOT}\n601 600 0:22 /xtables.lock /run/xtables.lock rw - tmpfs tmpfs rw`,
      "lock-not-shared",
    ],
    [
      "a container with /running",
      `${ROOT}\n601 600 0:22 / /running rw - tmpfs tmpfs rw`,
      "lock-not-shared",
    ],
    ["unreadable mounts", undefined, "not-tested"],
  ] as const) {
    test(`${name}: ${reason ?? "ok"}`, () => {
      assert.equal(checkLocks(LOCKS, mounts).reason, reason);
    });
  }

  test("only files that are not shared are named", () => {
    const mounts = `${ROOT}\n601 600 0:22 /xtables.lock /run/xtables.lock rw - tmpfs tmpfs rw`;
    assert.match(checkLocks(LOCKS, mounts).advice ?? "", /^\/run\/clusterset-agent\.lock: in/);
  });

  test("the mount of a path is the nearest one, and the last of several there", () => {
    const at = (type: string, point: string) => `1 1 0:1 / ${point} rw - ${type} x rw`;
    const mounts = [
      at("ext4", "/"),
      at("tmpfs", "/a/b"),
      at("xfs", "/a"),
      at("btrfs", "/a/b"),
    ].join("\n");
    assert.deepEqual(mountOf("/a/b/c", mounts), { point: "/a/b", type: "btrfs" });
    assert.deepEqual(mountOf("/a/bc", mounts), { point: "/a", type: "xfs" });
    assert.equal(mountOf("/a", ""), undefined);
  });

  test("blanks in mount points are unescaped", () => {
    assert.equal(mountOf("/my run/x", "1 1 0:1 / /my\\040run rw - tmpfs x rw")?.type, "tmpfs");
  });
});
