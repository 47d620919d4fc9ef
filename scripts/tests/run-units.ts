import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import results from "./reporter.ts";

// node scripts/tests/run-units.ts RESULTS TEST...: runs test files in this process, as "node --test --test-isolation=none" does, but
// with what was imported before (unfollowed.ts).

const [file = "", ...files] = process.argv.slice(2);
const tests = run({ files: files.map((each) => resolve(each)), isolation: "none" });
tests.on("test:fail", () => {
  process.exitCode = 1;
});
tests.compose(results).pipe(createWriteStream(file));
tests.pipe(new spec()).pipe(process.stdout);
