import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { headingsWithCommands, isAsShown } from "../e2e/guide.ts";

// How guides are held to what is seen: what may differ does, and nothing else.

const IMPORT = `NAME   TYPE           IP                    AGE
web    ClusterSetIP   ["241.232.251.137"]   5s
`;

const answer = (pod: string, source: string, ms: number) =>
  `{"at":${ms}.459,"name":"web-${pod}","source":"${source}","ms":${ms}}\n`;
const rule = (to: string) =>
  `-A CSP-SVC-X -p tcp --comment "shop/web:http global c2" -j DNAT --to-destination ${to}\n`;

/** What a guide shows, and what is seen instead. */
const SAME = [
  [IMPORT, 'NAME TYPE IP AGE\nweb ClusterSetIP ["241.232.251.137"] 3m12s\n'],
  [answer("85c5799d76-lfqvp", "10.1.1.4", 13), answer("5cc5db787c-wg8wz", "10.1.2.17", 2)],
  [rule("10.2.1.6:8080"), rule("10.2.3.44:8080")],
  ["one … three\n", "one two three\n"],
  ["one\n…\nfour\n", "one\nfour\n"],
  ["one\n…\nfour\n", "one\ntwo\nfour\n"],
  ["one\n…\nfour\n", "one\ntwo\nthree\nfour\n"],
  ["[+]sources ok (.*)\n", "[+]sources ok (.*)\n"],
] as const;
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

test("ages, widths of columns, names of pods, addresses in a cluster and what three dots omit may differ", () => {
  for (const [shown, seen] of SAME) assert.ok(isAsShown(shown, seen), seen);
});

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
