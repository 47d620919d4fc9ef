import assert from "node:assert/strict";
import { test } from "node:test";
import { Mirror } from "./mirror.ts";
import { RecordedStage } from "./recorded-stage.ts";
import type { Report } from "./report.ts";
import { REPOSITORY } from "./run-disk.ts";

const FILE = `${REPOSITORY}/test/a.test.ts`;
const FAILURE = { message: "1 !== 2", stack: "Error: 1 !== 2\n    at there", inside: false };

/** The tests of the host for these reports, and the result of closing. */
async function shown(reports: readonly Report[], fault?: string) {
  const page = new RecordedStage();
  const mirror = new Mirror(page);
  for (const report of reports) mirror.take(report);
  const closing = await mirror.close(fault).then(
    () => "well",
    (error: unknown) => String(error),
  );
  return { lines: page.lines, closing };
}

const began = (id: string, parent: string | undefined, name: string): Report =>
  parent === undefined ? { kind: "began", id, name } : { kind: "began", id, parent, name };
const ended = (id: string, more: object = {}): Report => ({
  kind: "ended",
  id,
  test: true,
  ...more,
});
const FILE_BEGINS = began(FILE, undefined, FILE);
const FILE_ENDS = ended(FILE, { test: false });

test("tests of the guest are nested on the host as in the guest", async () => {
  const { lines, closing } = await shown([
    { kind: "booted", kernel: "6.1.0", uptimeMs: 2_000 },
    FILE_BEGINS,
    began(`${FILE}#1`, FILE, "outer"),
    began(`${FILE}#2`, `${FILE}#1`, "inner"),
    ended(`${FILE}#2`),
    ended(`${FILE}#1`),
    { kind: "said", file: FILE, message: "took 7 ms" },
    began(`${FILE}#3`, FILE, "absent"),
    ended(`${FILE}#3`, { skipped: "no such thing" }),
    FILE_ENDS,
    { kind: "closing", tests: 3 },
  ]);
  assert.equal(closing, "well");
  assert.deepEqual(lines, [
    ": Linux 6.1.0, up in 2000 ms",
    "/test/a.test.ts begins",
    "/test/a.test.ts/outer begins",
    "/test/a.test.ts/absent begins",
    "/test/a.test.ts/outer/inner begins",
    "/test/a.test.ts/absent is skipped: no such thing",
    "/test/a.test.ts/absent ends",
    "/test/a.test.ts/outer/inner ends",
    "/test/a.test.ts/outer ends",
    "/test/a.test.ts: took 7 ms",
    "/test/a.test.ts ends",
  ]);
});

test("a failure is shown in its own test, and the enclosing tests do not repeat it", async () => {
  const inside = { ...FAILURE, inside: true };
  const { lines } = await shown([
    FILE_BEGINS,
    began(`${FILE}#1`, FILE, "one"),
    ended(`${FILE}#1`, { failure: FAILURE }),
    ended(FILE, { test: false, failure: inside }),
    { kind: "closing", tests: 1 },
  ]);
  assert.deepEqual(lines.slice(2), ["/test/a.test.ts/one fails: 1 !== 2", "/test/a.test.ts ends"]);
});

test("a guest that ends early fails the running test, and names it", async () => {
  const { lines, closing } = await shown(
    [FILE_BEGINS, began(`${FILE}#1`, FILE, "one")],
    "silent for 180 s",
  );
  assert.match(closing, /silent for 180 s; running: .*a\.test\.ts, one/);
  assert.ok(lines.some((line) => /one fails: the guest ended while this ran: silent/.test(line)));
});

for (const { name, reports, why } of [
  { name: "nothing at all", reports: [], why: /before its last line/ },
  { name: "no file", reports: [{ kind: "closing", tests: 0 }], why: /no file/ },
  {
    name: "a file without a test",
    reports: [FILE_BEGINS, FILE_ENDS, { kind: "closing", tests: 0 }],
    why: /a\.test\.ts: no test ran/,
  },
  {
    name: "a file with nothing but skipped tests",
    reports: [
      FILE_BEGINS,
      began(`${FILE}#1`, FILE, "one"),
      ended(`${FILE}#1`, { skipped: "no" }),
      FILE_ENDS,
      { kind: "closing", tests: 1 },
    ],
    why: /a\.test\.ts: no test ran/,
  },
  {
    name: "fewer tests than it says",
    reports: [
      FILE_BEGINS,
      began(`${FILE}#1`, FILE, "one"),
      ended(`${FILE}#1`),
      FILE_ENDS,
      { kind: "closing", tests: 2 },
    ],
    why: /missing/,
  },
  {
    name: "everything but its last line",
    reports: [FILE_BEGINS, began(`${FILE}#1`, FILE, "one"), ended(`${FILE}#1`), FILE_ENDS],
    why: /before its last line/,
  },
] satisfies { name: string; reports: Report[]; why: RegExp }[]) {
  test(`a guest that tested ${name} fails`, async () => {
    assert.match((await shown(reports)).closing, why);
  });
}
