import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesBelow } from "../../scripts/architecture/sources.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Folders that the repository has at its top; `dist/` is made by commands. */
const TOP = "agent|api|bench|bin|cli|common|controller|deploy|docs|images|scripts|test";
/** A path in it; in `demo`, which is also a namespace in examples, a file. */
const PATH = new RegExp(`^(?:(?:${TOP})/[\\w./*{},-]*[\\w*}/]|demo/[\\w-]+\\.ts),?$`);

const targets = new Set([...read("Makefile").matchAll(/^([a-z-]+):/gm)].map(([, name]) => name));
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

/** What is in code style in a document: spans between backticks, and lines of blocks. */
function codeOf(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  const blocks = [...text.matchAll(/^```\w*\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
    block.split("\n"),
  );
  return [...spans, ...blocks];
}

/** What a piece of code names that does not exist: a target of make, a script of npm, a path. */
function missingIn(code: string): string | undefined {
  const [, target] = /^make ([a-z-]+)\b/.exec(code) ?? [];
  if (target !== undefined && !targets.has(target)) return `make ${target}`;
  const [, script] = /^npm (?:run )?((?:test)(?:[:\w]*)|(?<=run )[:\w-]+)/.exec(code) ?? [];
  if (script !== undefined && !(script in scripts)) return `npm run ${script}`;
  const path = code.split(/\s/).find((word) => PATH.test(word));
  return path === undefined || exists(path) ? undefined : path;
}

const exists = (path: string): boolean =>
  globSync(path.replace(/,$/, ""), { cwd: root }).length > 0;

test("targets, scripts and paths that documents name in code style exist", () => {
  const missing = filesBelow(root, "", ".md")
    // The CHANGELOG also names what was.
    .filter((document) => document !== "CHANGELOG.md")
    .flatMap((document) =>
      codeOf(read(document)).flatMap((code) => {
        const name = missingIn(code);
        return name === undefined ? [] : [`${document}: ${name}`];
      }),
    );
  assert.deepEqual(missing, []);
});

/** How documents quote a test: `path`: *a part of its title*. */
const TITLE = /`([\w./-]+\.ts)`: \*([^*\n]+)\*/g;

test("titles of tests that documents quote are in their files", () => {
  const quoted = filesBelow(root, "docs", ".md").flatMap((document) =>
    [...read(document).matchAll(TITLE)].map(([, path = "", title = ""]) => ({ path, title })),
  );
  assert.ok(quoted.length > 0);
  const missing = quoted.filter(({ path, title }) => !exists(path) || !read(path).includes(title));
  assert.deepEqual(missing, []);
});

test("a name that does not exist is found", () => {
  assert.deepEqual(
    ["make no-target", "npm run none", "npm run test:none", "see test/none.ts", "api/*.none"].map(
      missingIn,
    ),
    ["make no-target", "npm run none", "npm run test:none", "test/none.ts", "api/*.none"],
  );
  assert.deepEqual(
    ["make test", "npm test", "node scripts/check.ts", "agent/*/README.md"].map(missingIn),
    [undefined, undefined, undefined, undefined],
  );
});

test("scripts of npm name files that exist", () => {
  for (const [name, command] of Object.entries(scripts)) {
    for (const word of command.split(" "))
      if (PATH.test(word)) assert.ok(exists(word), `${name}: ${word}`);
  }
});
