import { appendFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { builtCommands, runInGuest } from "./guest-tests.ts";
import { closingText, type Report } from "./results.ts";
import { REPOSITORY } from "./run-disk.ts";

const USAGE = `test/vm/run [OPTION]... FILE...

Boots Debian's kernel in QEMU, runs the test files there, two at a time, as they are in the working tree, and prints their
results; the last lines name each test that failed. Exits with code 1 if a test failed, or if results are missing.

  --alone FILE     also runs this file, after all others and with none beside it
  --only PATTERN   runs only tests with names that match this regular expression
  --skip PATTERN   runs no tests with names that match this regular expression
  --results PATH   appends each result to this file: {"file", "name", "outcome", "reason"} in a line
  --command NAME   adds a command of Kubernetes (kube-proxy, kube-apiserver, etcd, ...): in the guest,
                   test/kubernetes/build NAME and $KUBEBUILDER_ASSETS have its path`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    alone: { type: "string", multiple: true, default: [] },
    command: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    skip: { type: "string" },
    results: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help || positionals.length + values.alone.length === 0) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}

const { only, skip } = values;
const inTree = (file: string) => relative(REPOSITORY, resolve(file));
const results = await runInGuest(
  {
    files: positionals.map(inTree),
    alone: values.alone.map(inTree),
    commands: builtCommands(values.command),
    ...(only !== undefined && { only }),
    ...(skip !== undefined && { skip }),
  },
  print,
);
if (values.results !== undefined) {
  // Absolute paths, as reporters of node:test have them.
  const lines = results.map((result) => ({ ...result, file: `${REPOSITORY}/${result.file}` }));
  appendFileSync(values.results, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
console.log(closingText(results));
process.exitCode = results.some(({ outcome }) => outcome === "failed") ? 1 : 0;

/** Prints a report as a line, so that the output shows how far the guest is. */
function print(report: Report): void {
  if (report.kind === "booted")
    console.log(`Linux ${report.kernel}, up in ${Math.round(report.uptimeMs)} ms`);
  else if (report.kind === "result")
    console.log(`${report.file}: ${report.outcome}: ${report.name}`);
  else if (report.kind === "said") console.log(`${report.file}: ${report.text.trimEnd()}`);
}
