import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Test files that run in one `node --test`. */
interface Group {
  readonly name: string;
  readonly files: string;
  /** Files at a time. */
  readonly concurrency: number;
}

/**
 * All that needs root. Groups of a lane run one after the other, lanes side by side: the first waits a lot for API servers and
 * kubelets, the second is busy with one processor. Tests of rules make storms of connections, one storm at a time.
 */
const LANES: readonly (readonly Group[])[] = [
  [
    { name: "servers", files: "test/{lab,apiserver,coexistence}/**/*.test.ts", concurrency: 2 },
    { name: "clusters", files: "test/{cluster,e2e}/**/*.test.ts", concurrency: 2 },
  ],
  [{ name: "rules", files: "test/kernel/**/*.test.ts", concurrency: 1 }],
];

/** Runs one, and says what it says, line by line as it comes; true if all went well. */
async function run({ name, files, concurrency }: Group): Promise<boolean> {
  const begun = performance.now();
  const flags = [`--test-concurrency=${concurrency}`, "--test-reporter=spec"];
  const child = spawn(process.execPath, ["--test", ...flags, files], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`${name}: ${line}`);
  }
  const isWell = (await ended) === 0;
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`${name}: ${isWell ? "passed" : "FAILED"} in ${seconds} s`);
  return isWell;
}

/** All of them, whatever became of those before. */
async function inTurn(groups: readonly Group[]): Promise<boolean> {
  let areWell = true;
  for (const group of groups) areWell = (await run(group)) && areWell;
  return areWell;
}

const names = LANES.flat().map(({ name }) => name);
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !names.includes(name));
if (unknown.length > 0) throw new Error(`${unknown.join()}: expected some of ${names.join()}`);
const isChosen = ({ name }: Group): boolean => asked.length === 0 || asked.includes(name);
const outcomes = await Promise.all(LANES.map((lane) => inTurn(lane.filter(isChosen))));
if (outcomes.includes(false)) process.exitCode = 1;
