import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { headingsWithCommands, isAsShown } from "../e2e/guide.ts";

// What a guide shows is what is seen. The tests that follow guides (test/e2e, test/apiserver) show what may differ.

const IMPORT = `NAME   TYPE           IP                    AGE
web    ClusterSetIP   ["241.232.251.137"]   5s
`;

/** What a guide shows, and what is seen instead. */
const OTHER = [
  [IMPORT, IMPORT.replace("ClusterSetIP", "Headless")],
  [IMPORT, IMPORT.replace("241.232.251.137", "241.232.251.138")],
  ["10.2.1.6:8080\n", "10.1.1.6:8080\n"],
  ["10.2.1.6:8080\n", "10.2.1.6:8081\n"],
  ["one\n", "one\ntwo\n"],
  ["one\ntwo\n", "one\n"],
  ["one\n", ""],
  ["one … three\n", "one two\nthree\n"],
  ["one\n…\nfour\n", "one\ntwo\n"],
  ["[+]sources ok\n", "++sources ok\n"],
] as const;

test("words, clusters, ports, lines and what looks like an expression may not differ", () => {
  for (const [shown, seen] of OTHER) assert.ok(!isAsShown(shown, seen), seen);
});

test("a test runs every command of these guides", () => {
  const folder = join(import.meta.dirname, "../e2e");
  const tests = globSync("**/*.ts", { cwd: folder });
  const text = tests.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  for (const guide of ["install.md", "uninstall.md", "debug-a-node.md"]) {
    const headings = headingsWithCommands(guide);
    assert.ok(headings.length > 1, guide);
    for (const heading of headings)
      assert.ok(text.includes(`"${heading}"`), `${guide}: ${heading}`);
  }
});
