/** Runs the job's files in the guest, and reports the result of each test to the host. */
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { resolve } from "node:path";
import { type EventData, run } from "node:test";
import { inspect } from "node:util";
import type { Report, Result } from "../results.ts";

/** Enough lines of an error for its message, and the first lines of a difference. */
const REASON_LINES = 40;

const port = openSync(process.env.RESULTS ?? "/dev/null", "w");

function report(said: Report): void {
  writeSync(port, `${JSON.stringify(said)}\n`);
}

function textOf(name: string): string {
  return existsSync(`/media/run/${name}`) ? readFileSync(`/media/run/${name}`, "utf8") : "";
}

/** The names of tests to run. */
function filters(): object {
  const [only, skip] = [textOf("only"), textOf("skip")];
  return {
    ...(only !== "" && { testNamePatterns: [new RegExp(only)] }),
    ...(skip !== "" && { testSkipPatterns: [new RegExp(skip)] }),
  };
}

/** Undefined for suites, for the file itself unless it failed by itself, and for what failed only by a test inside. */
function resultOf(file: string, path: string, data: EventData.TestComplete): Result | undefined {
  const { name, details, skip } = data;
  if (details.error !== undefined) {
    const { error } = details;
    if ("failureType" in error && error.failureType === "subtestsFailed") return undefined;
    const reason = inspect(error.cause ?? error)
      .split("\n")
      .slice(0, REASON_LINES)
      .join("\n");
    return { file, name, outcome: "failed", reason };
  }
  if (details.type === "suite" || name === path) return undefined;
  // The guest's kernel has everything that tests need.
  if (typeof skip === "string" && /this kernel/.test(skip))
    return { file, name, outcome: "failed", reason: `skipped: ${skip}` };
  return { file, name, outcome: skip ? "skipped" : "passed" };
}

async function runFile(file: string): Promise<void> {
  const path = resolve(file);
  let results = 0;
  for await (const { type, data } of run({ files: [path], concurrency: 1, ...filters() })) {
    if (type === "test:dequeue") report({ kind: "began", file, name: data.name });
    else if (type === "test:stdout" || type === "test:stderr")
      report({ kind: "said", file, text: data.message });
    // The sums at the end have no file.
    else if (type === "test:diagnostic" && data.file !== undefined)
      report({ kind: "said", file, text: data.message });
    else if (type === "test:complete") {
      const result = resultOf(file, path, data);
      if (result === undefined) continue;
      results++;
      report({ kind: "result", ...result });
    }
  }
  report({ kind: "ended", file, results });
}

/** Runs these files one after the other. */
async function runInTurn(files: string[]): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) await runFile(file);
}

const filesOf = (name: string) => textOf(name).split("\n").filter(Boolean);
const uptimeMs = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;
report({ kind: "booted", kernel: release(), uptimeMs });
const waiting = filesOf("beside");
await Promise.all(Array.from({ length: availableParallelism() }, () => runInTurn(waiting)));
await runInTurn(filesOf("alone"));
