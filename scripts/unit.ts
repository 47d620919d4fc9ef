import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { buffer } from "node:stream/consumers";
import { COMPILED } from "./tests/compiled.ts";

/** All of what is tested beside the code, and what needs neither root nor network. */
const FILES = [
  "{api,common,agent,controller,cli,bench,demo}/**/*.test.ts",
  "test/{unit,doubles,packets,states,scenarios}/**/*.test.ts",
  "test/cluster/{cut,forget,spec}.test.ts",
  "test/vm/{mirror,report,watchdog}.test.ts",
];
/** Processes that share the files. Each compiles what its files import: more than four would do so for nothing. */
const SHARDS = Math.min(availableParallelism(), 4);

/** Runs one share of the files in one process; gives what it said, and whether all went well. */
async function run(shard: number): Promise<{ readonly said: Buffer; readonly well: boolean }> {
  const child = spawn(
    process.execPath,
    [
      "--test",
      "--test-isolation=none",
      "--test-reporter=dot",
      `--test-shard=${shard}/${SHARDS}`,
      ...FILES,
    ],
    // Standard error may hold what a test says on the way to its failure.
    { env: COMPILED, stdio: ["ignore", "pipe", "inherit"] },
  );
  const status = new Promise<number | null>((resolve) => child.once("close", resolve));
  const said = await buffer(child.stdout);
  return { said, well: (await status) === 0 };
}

const shares = await Promise.all(Array.from({ length: SHARDS }, (_, i) => run(i + 1)));
for (const { said } of shares) process.stdout.write(said);
if (!shares.every(({ well }) => well)) process.exitCode = 1;
