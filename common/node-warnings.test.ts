import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** A process of its own: it is the process's listeners that are exchanged. */
const PROGRAM = `
  import { createLogger } from "./log.ts";
  import { logNodeWarnings } from "./node-warnings.ts";
  const sink = { write: (line) => process.stderr.write(line) };
  logNodeWarnings(createLogger({ level: "info", format: "json" }, sink));
  process.emitWarning("too many listeners", "MaxListenersExceededWarning");
`;

test("a warning of Node is one log line, and the only output on stderr", () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module-typescript", "--eval", PROGRAM],
    { cwd: join(import.meta.dirname), encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  const { level, warning, detail } = JSON.parse(stderr);
  assert.deepEqual(
    { level, warning, detail },
    { level: "warn", warning: "MaxListenersExceededWarning", detail: "too many listeners" },
  );
});
