#!/usr/bin/env node
import { homedir, userInfo } from "node:os";
import { nameProcess, stopSignal } from "../common/process.ts";
import { EXIT } from "./exit-code.ts";
import { run } from "./run.ts";
import { ask, painter } from "./terminal.ts";

nameProcess("kubectl-clusterset");
// A closed pipe (`status | head`) is not an error.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);
const stopped = stopSignal();
/** 128, and the number of SIGINT. */
const INTERRUPTED = 130;
// No `await` here: the self-contained executable is a CommonJS module, which has none.
void run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  note: (text) => process.stderr.write(text),
  ask: (question) =>
    ask(question, { input: process.stdin, output: process.stderr, signal: stopped }),
  paint: painter(process.stdout),
  ...(process.stdout.isTTY && { columns: process.stdout.columns }),
  hasProgress: process.stderr.isTTY,
  env: process.env,
  home: homedir(),
  user: userInfo().username,
  timeOfDay: () => Date.now(),
  signal: stopped,
}).then((code) => {
  // As shells report it. A command that is to end by Ctrl-C, and has ended well, keeps its own.
  process.exitCode = code === EXIT.failed && stopped.reason === "SIGINT" ? INTERRUPTED : code;
});
