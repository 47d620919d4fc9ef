import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";

// Types, format, lint, architecture, documents and charts: everything about the tree that can be known without running
// it, in seconds. What fails is printed; the last line says what became of all.

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules/.bin");

interface Check {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

const CHECKS: readonly Check[] = [
  { name: "types", program: join(bin, "tsc"), args: ["-p", "."] },
  { name: "format", program: join(bin, "biome"), args: ["check", "--error-on-warnings", "."] },
  { name: "lint", program: join(bin, "oxlint"), args: ["--type-aware", "--deny-warnings"] },
  {
    name: "architecture, documents and charts",
    program: process.execPath,
    args: [
      "--test",
      "--test-isolation=none",
      "--test-reporter=dot",
      ...globSync("test/unit/{architecture,charts,documents,named-paths,plan}.test.ts", {
        cwd: root,
      }),
    ],
  },
];

const started = performance.now();
const failed = (await Promise.all(CHECKS.map(run))).flatMap((name) => name ?? []);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
const names = CHECKS.map(({ name }) => name).join(", ");
if (failed.length === 0) console.log(`check passed in ${seconds} s: ${names}`);
else console.log(`check FAILED in ${seconds} s: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Runs one check; gives its name if it fails, after what it had to say. */
function run({ name, program, args }: Check): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => said.push(text));
  }
  const failed = (why: string): void => {
    console.log(`--- ${name}: ${why}\n${said.join("").trimEnd()}\n`);
    resolve(name);
  };
  child.on("error", (error) => failed(`${error.message}; run "make prepare" first`));
  child.on("close", (code, signal) => {
    if (code === 0) resolve(undefined);
    else failed(signal === null ? `exit code ${code}` : `ended by ${signal}`);
  });
  return promise;
}
