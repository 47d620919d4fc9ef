import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { createInterface } from "node:readline";
import { COMPILED } from "./tests/compiled.ts";

/** What one process does. */
interface Group {
  readonly name: string;
  /** Of Node, without files. */
  readonly argv: readonly string[];
  /** Files or patterns. */
  readonly files: readonly string[];
}

/** These files, so many of them at a time. */
function tests(name: string, files: readonly string[], concurrency: number): Group {
  const flags = [`--test-concurrency=${concurrency}`, "--test-reporter=spec"];
  // The virtual machine's tests take types out of sources, by what Node calls an experiment.
  return { name, argv: ["--disable-warning=ExperimentalWarning", "--test", ...flags], files };
}

const COMMANDS = "test/apiserver/cli-*.test.ts";
/** All other files of the folder. */
const SERVERS = globSync("test/apiserver/**/*.test.ts", { exclude: [COMMANDS] }).sort();

/**
 * All that needs root, or more than seconds. Groups of a lane run one after the other, lanes side by side: the first waits a lot for API servers and
 * kubelets, the second is busy with one processor, the third makes meanwhile what the clusters need, measures memory, tries what is installed, and has others' rules beside ours. Tests of rules make
 * storms of connections, one storm at a time. The third ends with tests of commands: after these and the rules, clusters have both processors.
 */
const LANES: readonly (readonly Group[])[] = [
  [tests("servers", SERVERS, 2), tests("clusters", ["test/{cluster,e2e}/**/*.test.ts"], 2)],
  [tests("rules", ["test/{kernel,backends}/**/*.test.ts"], 1)],
  [
    { name: "images", argv: [], files: ["test/e2e/make-ready.ts"] },
    tests("limits", ["test/limits/**/*.test.ts"], 1),
    tests("packages", ["test/{monitoring,packages}/**/*.test.ts"], 1),
    tests("coexistence", ["test/{lab,coexistence}/**/*.test.ts"], 1),
    tests("machine", ["test/vm/machine.test.ts"], 1),
    tests("commands", [COMMANDS], 1),
  ],
];

/** Emulates two processors, and takes both of this machine: beside clusters, neither gets anywhere. */
const AFTER = [tests("vm", ["test/vm/vm.test.ts"], 1)];

/** Where a test that failed begins, in what Node's reporter repeats at its end. */
const PLACE = /^test at (.+):\d+:\d+$/;

/** Of what Node's reporter repeats at its end about each test that failed: where it is, its name, and what its error begins with. */
const FAILURE_LINES = 12;

/** What failed, of all groups: said once more after everything else, as the last of ten thousand lines is what gets read. */
const failures: string[] = [];

/** Groups to run once more. */
const again: Group[] = [];

/** Runs one, and says what it says, line by line as it comes; true if all went well. */
async function run(group: Group): Promise<boolean> {
  const { name, argv, files } = group;
  const places: string[] = [];
  const begun = performance.now();
  const child = spawn(process.execPath, [...argv, ...files], {
    env: COMPILED,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let wanted = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`${name}: ${line}`);
    const [, place] = PLACE.exec(line) ?? [];
    if (place !== undefined) {
      places.push(place);
      wanted = FAILURE_LINES;
    }
    if (wanted > 0) failures.push(`${name}: ${line}`);
    wanted -= 1;
  }
  const isWell = (await ended) === 0;
  const seconds = Math.round((performance.now() - begun) / 1000);
  const outcome = `${name}: ${isWell ? "passed" : "FAILED"} in ${seconds} s`;
  console.log(outcome);
  if (!isWell) {
    failures.push(outcome);
    again.push(retryOf(group, places));
  }
  return isWell;
}

/** The files in which tests failed, or the whole group where that cannot be known, as of tests in the virtual machine. */
function retryOf({ name, argv, files }: Group, places: readonly string[]): Group {
  const isKnown = places.length > 0 && places.every((place) => place.endsWith(".test.ts"));
  return { name: `${name}, again`, argv, files: isKnown ? [...new Set(places)] : files };
}

/**
 * Runs what failed once more, when nothing else is running: kernels, API servers and thousands of connections on two processors are
 * sometimes late for reasons of their own. What fails twice has failed; what does not is named.
 */
async function retry(): Promise<boolean> {
  const groups = again.splice(0);
  const areWell = await inTurn(groups);
  if (areWell) failures.push(...groups.map(({ name }) => `${name}: passed`));
  return areWell;
}

/** All of them, whatever became of those before. */
async function inTurn(groups: readonly Group[]): Promise<boolean> {
  let areWell = true;
  for (const group of groups) areWell = (await run(group)) && areWell;
  return areWell;
}

const names = [...LANES.flat(), ...AFTER].map(({ name }) => name);
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !names.includes(name));
if (unknown.length > 0) throw new Error(`${unknown.join()}: expected some of ${names.join()}`);
const isChosen = ({ name }: Group): boolean => asked.length === 0 || asked.includes(name);
const outcomes = await Promise.all(LANES.map((lane) => inTurn(lane.filter(isChosen))));
outcomes.push(await inTurn(AFTER.filter(isChosen)));
if (outcomes.includes(false) && !(await retry())) process.exitCode = 1;
for (const line of failures) console.log(line);
