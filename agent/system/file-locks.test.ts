import assert from "node:assert/strict";
import { test } from "node:test";
import { isWaiting } from "./persistent-process.ts";

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
