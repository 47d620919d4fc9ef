import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { headingsWithCommands } from "../e2e/guide.ts";
import { isAsShown } from "../e2e/shown.ts";

// How guides are held to what is seen: what may differ does, and nothing else.

const IMPORT = `NAME   TYPE           IP                    AGE
web    ClusterSetIP   ["241.232.251.137"]   5s
`;

test("ages, widths of columns, names of pods and addresses in a cluster may differ", () => {
  assert.ok(isAsShown(IMPORT, 'NAME TYPE IP AGE\nweb ClusterSetIP ["241.232.251.137"] 3m12s\n'));
  const answer = (pod: string, source: string, ms: number) =>
    `{"at":${ms}.459,"name":"web-${pod}","source":"${source}","ms":${ms}}\n`;
  assert.ok(
    isAsShown(
      answer("85c5799d76-lfqvp", "10.1.1.4", 13),
      answer("5cc5db787c-wg8wz", "10.1.2.17", 2),
    ),
  );
  const rule = (to: string) =>
    `-A CSP-SVC-X -p tcp --comment "shop/web:http global c2" -j DNAT --to-destination ${to}\n`;
  assert.ok(isAsShown(rule("10.2.1.6:8080"), rule("10.2.3.44:8080")));
});

test("words, clusters, ports and lines may not differ", () => {
  assert.ok(!isAsShown(IMPORT, IMPORT.replace("ClusterSetIP", "Headless")));
  assert.ok(!isAsShown(IMPORT, IMPORT.replace("241.232.251.137", "241.232.251.138")));
  assert.ok(!isAsShown("10.2.1.6:8080\n", "10.1.1.6:8080\n"));
  assert.ok(!isAsShown("10.2.1.6:8080\n", "10.2.1.6:8081\n"));
  assert.ok(!isAsShown("one\n", "one\ntwo\n"));
  assert.ok(!isAsShown("one\ntwo\n", "one\n"));
  assert.ok(!isAsShown("one\n", ""));
});

test("three dots match omitted text in a line, or any number of lines", () => {
  assert.ok(isAsShown("one … three\n", "one two three\n"));
  assert.ok(!isAsShown("one … three\n", "one two\nthree\n"));
  for (const left of ["", "two\n", "two\nthree\n"]) {
    assert.ok(isAsShown("one\n…\nfour\n", `one\n${left}four\n`));
  }
  assert.ok(!isAsShown("one\n…\nfour\n", "one\ntwo\n"));
});

test("regular expressions are compared as text", () => {
  assert.ok(isAsShown("[+]sources ok (.*)\n", "[+]sources ok (.*)\n"));
  assert.ok(!isAsShown("[+]sources ok\n", "++sources ok\n"));
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
