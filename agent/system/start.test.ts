import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A program of its own, because what it does to itself would harm the other tests. */
const STARVING = fileURLToPath(new URL("../../test/support/starving.ts", import.meta.url));

test("without a descriptor to spare nothing starts, every way to start says why, and all go on after it", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [STARVING]);
  assert.deepEqual(JSON.parse(stdout), {
    starved: {
      coprocess: "CSP_EXEC_STARVED",
      credentialPlugin: "Error: spawn sh EMFILE",
      execLines: "CSP_EXEC_STARVED",
      nodeLock: "CSP_LOCK_UNAVAILABLE",
      outcome: "CSP_EXEC_STARVED",
      restore: "CSP_EXEC_STARVED",
    },
    after: {
      coprocess: "exit status 0",
      credentialPlugin: "given",
      execLines: "done",
      nodeLock: "taken",
      outcome: 0,
      restore: "done",
    },
  });
});
