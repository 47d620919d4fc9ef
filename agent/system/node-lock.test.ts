import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { codeOf } from "../../common/errors.ts";
import { NodeLock } from "./node-lock.ts";
import { isWaiting } from "./persistent-process.ts";
import { startProgram } from "./start-program.ts";

const directory = mkdtempSync(join(tmpdir(), "csp-lock-"));
after(() => rmSync(directory, { recursive: true }));

test("one process at a time holds the lock, and only root can open the file", async () => {
  const path = join(directory, "one");
  const first = await NodeLock.take(path);
  assert.ok(first);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(await NodeLock.take(path), undefined);
  await first.release();
  const second = await NodeLock.take(path);
  assert.ok(second);
  await second.release();
});

test("a child with the descriptor holds the lock until it ends", async () => {
  const path = join(directory, "inherited");
  const lock = await NodeLock.take(path);
  assert.ok(lock);
  const { child, ended } = startProgram(["cat"], () => undefined, [lock.descriptor]);
  await lock.release();
  assert.equal(await NodeLock.take(path), undefined);
  child?.stdin.end();
  await ended;
  const next = await NodeLock.take(path);
  assert.ok(next);
  await next.release();
});

test("a file that cannot be created is an error, not a held lock", async () => {
  const taken = NodeLock.take(join(directory, "missing", "file"));
  await assert.rejects(taken, (error) => codeOf(error) === "CSP_LOCK_UNAVAILABLE");
});

const LOCKS = `1: FLOCK  ADVISORY  WRITE 4107 00:1a:1201 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4110 00:1a:1201 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4111 00:1a:1201 0 EOF
2: POSIX  ADVISORY  WRITE 4112 00:1a:1202 0 EOF
2: -> POSIX  ADVISORY  WRITE 4113 00:1a:1202 0 EOF
`;

test("a process that waits for flock differs from the holder and from one that waits for another kind of lock", () => {
  const waiting = [4107, 4110, 4111, 4112, 4113, 411].filter((pid) => isWaiting(LOCKS, pid));
  assert.deepEqual(waiting, [4110, 4111]);
  assert.equal(isWaiting("", 1), false);
});
