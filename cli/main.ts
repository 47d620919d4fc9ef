#!/usr/bin/env node
import { homedir, userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import { nameProcess } from "../common/process-name.ts";
import { stopSignal } from "../common/stop-signal.ts";
import { run } from "./run.ts";
import { painter } from "./terminal.ts";

nameProcess("kubectl-clusterset");
// A closed pipe (`status | head`) is not an error.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);
const stopped = stopSignal();
// No `await` here: the self-contained executable is a CommonJS module, which has none.
void run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
  ask: async (question) => {
    if (!process.stdin.isTTY) return undefined;
    using lines = createInterface({ input: process.stdin, output: process.stderr });
    return lines.question(question, { signal: stopped });
  },
  paint: painter(process.stdout),
  env: process.env,
  home: homedir(),
  user: userInfo().username,
  timeOfDay: () => Date.now(),
  signal: stopped,
}).then((code) => {
  process.exitCode = code;
});
