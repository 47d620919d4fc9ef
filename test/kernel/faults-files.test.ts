import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { NodeStage, slice } from "../stages/node-stage.ts";

/** Mounts a file system of this size in the agent's mount namespace only. */
function onSmallDisk(path: string, options = "size=64k"): string[] {
  mkdirSync(path);
  const script = `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`;
  return ["unshare", "--mount", "sh", "-c", script, path];
}

/** Fills a disk to its last byte. */
function fill(directory: string): void {
  assert.throws(() => writeFileSync(join(directory, "ballast"), Buffer.alloc(1 << 20)), {
    code: "ENOSPC",
  });
}

describe("files and disks", { concurrency: 3 }, () => {
  test("a full disk under the manifests removes no service; with space, the next manifest is used", async () => {
    await using stage = await NodeStage.create({
      through: (directory) => onSmallDisk(join(directory, "disk")),
      manifests: (directory) => join(directory, "disk"),
    });
    stage.agent.launch();
    await stage.agent.page("/livez");
    const disk = stage.seen(join(stage.lab.directory, "disk"));
    for (const name of ["import.json", "slice.json"]) {
      writeFileSync(join(disk, name), readFileSync(join(stage.manifests.path, name)));
    }
    await stage.live("10.1.0.11");
    const before = await stage.rules();
    fill(disk);
    // As `cp` and `>` of a shell do it: the file is emptied first, and then there is no room for its content.
    const path = join(disk, "slice.json");
    truncateSync(path);
    writeFileSync(join(disk, "ballast2"), Buffer.alloc(4096));
    assert.throws(() => writeFileSync(path, JSON.stringify(slice("10.1.0.12"))), {
      code: "ENOSPC",
    });
    await stage.logged(({ reason }) => reason === "empty");
    assert.equal(await stage.rules(), before);
    rmSync(join(disk, "ballast"));
    writeFileSync(path, JSON.stringify(slice("10.1.0.12")));
    await stage.live("10.1.0.12");
  });

  test("the lock file needs no space, but an inode: without one the agent does not start, and logs the reason", async () => {
    for (const { options, code } of [
      { options: "size=4k,nr_inodes=1", code: 1 },
      { options: "size=4k,nr_inodes=3", code: 0 },
    ]) {
      await using stage = await NodeStage.create({
        through: (directory) => onSmallDisk(join(directory, "disk"), options),
        flags: (directory) => ["--lock-file", join(directory, "disk", "agent.lock")],
      });
      stage.agent.launch();
      if (code === 0) {
        await stage.live("10.1.0.11");
        assert.deepEqual(await stage.agent.stop(), { code, signal: null });
        continue;
      }
      assert.deepEqual(await stage.agent.exited, { code, signal: null });
      assert.equal(stage.log.at(-1)?.error?.code, "CSP_LOCK_UNAVAILABLE");
      assert.match(stage.agent.log, /ENOSPC/);
    }
  });

  test("a full disk under the log only loses log lines; with space, their number is logged", async () => {
    await using stage = await NodeStage.create({
      through: (directory) => [
        ...onSmallDisk(join(directory, "disk")),
        ...["sh", "-c", 'exec "$@" 2>"$0"', join(directory, "disk", "log")],
      ],
    });
    await stage.start();
    const disk = stage.seen(join(stage.lab.directory, "disk"));
    const log = () => readFileSync(join(disk, "log"), "utf8").split("\n");
    fill(disk);
    const broken = join(stage.manifests.path, "broken.json");
    for (let i = 0; i < 100; i++) writeFileSync(`${broken}-${i}.json`, `{ ${i}`);
    stage.change("10.1.0.12");
    await stage.live("10.1.0.12");
    await eventually(async () => {
      assert.equal(await stage.agent.metric("clusterset_agent_manifest_files_broken"), 100);
    });
    rmSync(join(disk, "ballast"));
    for (let i = 0; i < 100; i++) rmSync(`${broken}-${i}.json`);
    const lost = await eventually(() => {
      // One line may be half a line, where the disk ended.
      const line = log().find((each) => each.includes("Log lines were lost"));
      assert.ok(line);
      return JSON.parse(line);
    });
    assert.equal(lost.why, "ENOSPC");
    assert.ok(Number(lost.lines) > 0);
  });
});
