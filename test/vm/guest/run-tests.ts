/** Runs the job's files in the guest, and reports the result of each test to the host. */
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { resolve } from "node:path";
import { type EventData, run } from "node:test";
import { inspect } from "node:util";
import type { Failure, Report } from "../report.ts";

const port = openSync(process.env.RESULTS ?? "/dev/null", "w");
const only = existsSync("/media/run/only")
  ? { testNamePatterns: [new RegExp(readFileSync("/media/run/only", "utf8"))] }
  : {};
const known = new Set<string>();
let tests = 0;

function report(said: Report): void {
  writeSync(port, `${JSON.stringify(said)}\n`);
}

/** node:test reports a file as a test. */
function idOf(file: string, { name, testId }: { name: string; testId: number }): string {
  return name === file ? file : `${file}#${testId}`;
}

function failureOf(error: Error): Failure {
  const cause = error.cause instanceof Error ? error.cause : error;
  const inside = "failureType" in error && error.failureType === "subtestsFailed";
  return { message: cause.message, stack: inspect(cause), inside };
}

/** Once for each test: node:test does not begin tests that it cancels after a failed hook. */
function began(file: string, data: EventData.TestDequeue | EventData.TestComplete): void {
  const id = idOf(file, data);
  if (known.has(id)) return;
  known.add(id);
  const parent = id === file ? undefined : data.parentId ? `${file}#${data.parentId}` : file;
  report({ kind: "began", id, name: data.name, ...(parent === undefined ? {} : { parent }) });
}

function ended(file: string, data: EventData.TestComplete): void {
  const { details, skip } = data;
  began(file, data);
  const id = idOf(file, data);
  const test = id !== file && details.type !== "suite";
  if (test) tests++;
  report({
    ...{ kind: "ended", id, test },
    ...(skip ? { skipped: skip === true ? "skipped" : skip } : {}),
    ...(details.error === undefined ? {} : { failure: failureOf(details.error) }),
  });
}

async function runFile(file: string): Promise<void> {
  for await (const { type, data } of run({ files: [file], concurrency: 1, ...only })) {
    if (type === "test:dequeue") began(file, data);
    else if (type === "test:complete") ended(file, data);
    else if (type === "test:stdout" || type === "test:stderr")
      report({ kind: "printed", text: data.message });
    // The sums at the end have no file.
    else if (type === "test:diagnostic" && data.file !== undefined)
      report({ kind: "said", file, message: data.message });
  }
}

/** Runs these files one after the other. */
async function runInTurn(files: string[]): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    await runFile(resolve(file));
  }
}

function filesOf(name: string): string[] {
  return readFileSync(`/media/run/${name}`, "utf8").split("\n").filter(Boolean);
}

const uptimeMs = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;
report({ kind: "booted", kernel: release(), uptimeMs });
const waiting = filesOf("beside");
await Promise.all(Array.from({ length: availableParallelism() }, () => runInTurn(waiting)));
await runInTurn(filesOf("alone"));
report({ kind: "closing", tests });
