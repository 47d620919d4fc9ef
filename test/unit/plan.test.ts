import assert from "node:assert/strict";
import { test } from "node:test";
import { idleRows, type Job, jobsOf, type Part } from "../../scripts/tests/jobs.ts";
import { PLAN, rowsOf, testFiles } from "../../scripts/tests/plan.ts";

const files = testFiles();

test("every test file has a row in the plan", () => {
  assert.ok(files.length > 300);
  for (const file of files) assert.ok(rowsOf(file).length > 0, file);
});

test("every row of the plan has a file", () => {
  assert.deepEqual(idleRows(files), []);
  assert.deepEqual(idleRows([], PLAN.slice(0, 1)), [PLAN[0]?.files]);
});

const isRandom = (file: string): boolean => rowsOf(file).some(({ random }) => random === true);

/** The files that the jobs of a part run, with their filters; without those that run again with another seed. */
function runs(part: Part): string[] {
  const ofJob = ({ files, guest, only, skip }: Job): string[] =>
    files
      .filter((file) => !isRandom(file))
      .map((file) => JSON.stringify({ file, guest: guest !== undefined, only, skip }));
  return jobsOf(part, 2, [], files).flatMap(ofJob);
}

test("make test and the rest run each test once: what a filter leaves out runs in the rest", () => {
  const seen = [...runs("test"), ...runs("rest")];
  assert.equal(new Set(seen).size, seen.length);
  const inTest = jobsOf("test", 2, [], files);
  const inRest = jobsOf("rest", 2, [], files);
  for (const job of inTest.filter(({ only, skip }) => only !== undefined || skip !== undefined)) {
    for (const file of job.files.filter((file) => !isRandom(file))) {
      const other = inRest.find((rest) => !rest.guest === !job.guest && rest.files.includes(file));
      // Whole files share the guest of the rest.
      const left = job.guest === undefined ? [job.skip, job.only] : [undefined, undefined];
      assert.deepEqual([other?.only, other?.skip], left, file);
    }
  }
  const run = new Set([...inTest, ...inRest].flatMap((job) => job.files));
  const checked = files.filter((file) => rowsOf(file)[0]?.target === "check");
  assert.deepEqual([...run, ...checked].sort(), files);
});

test("what makes random choices in make test runs again in the rest, with another seed", () => {
  const filesOf = (part: "test" | "rest"): Set<string> =>
    new Set(jobsOf(part, 2, [], files).flatMap((job) => job.files));
  const [test, rest] = [filesOf("test"), filesOf("rest")];
  const random = files.filter((file) => isRandom(file) && test.has(file));
  assert.ok(random.includes("test/states/histories.test.ts"));
  for (const file of random) assert.ok(rest.has(file), file);
});

test("the drill with power cuts is not repeated after a failure", () => {
  const once = (part: Part): string[] =>
    jobsOf(part, 2, [], files).flatMap((job) => (job.once === true ? job.files : []));
  assert.deepEqual(once("rest"), ["test/e2e/drill.test.ts"]);
  assert.deepEqual(once("test"), []);
});

test("here is the rest without the virtual machine", () => {
  const name = ({ name, only, skip }: { name: string; only?: string; skip?: string }): string =>
    `${name} ${only} ${skip}`;
  const rest = jobsOf("rest", 2, [], files);
  const here = jobsOf("here", 2, [], files).map(name);
  assert.deepEqual(here, rest.filter(({ guest }) => guest === undefined).map(name));
  assert.ok(here.length < rest.length);
});

test("npm test needs no root: it runs what is beside the code, and no file of the kernel", () => {
  const unit = new Set(jobsOf("unit", 2, [], files).flatMap((job) => job.files));
  const besideCode = files.filter((file) => /^(agent|api|cli|common|controller)\//.test(file));
  assert.ok(besideCode.some((file) => file.startsWith("cli/")));
  for (const file of besideCode) assert.ok(unit.has(file), file);
  for (const file of unit)
    assert.doesNotMatch(file, /^test\/(kernel|backends|apiserver|e2e|ipvs|lab)\//);
});

test("files for the virtual machine share a guest, and only matching files are chosen", () => {
  const guests = jobsOf("rest", 2, ["test/ipvs/**"], files).filter(
    ({ guest }) => guest !== undefined,
  );
  assert.equal(guests.length, 1);
  assert.ok((guests[0]?.files.length ?? 0) > 1);
  assert.deepEqual(guests[0]?.guest, { alone: ["test/ipvs/pod.test.ts"] });
  const chosen = ["test/kernel/refusals.test.ts"];
  const [job, ...more] = jobsOf("some", 2, chosen, files);
  assert.deepEqual([job?.files, job?.only, job?.skip, more], [chosen, undefined, undefined, []]);
});
