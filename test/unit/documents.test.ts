import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import * as AGENT from "../../agent/observe/metric-table.ts";
import { AgentMetrics } from "../../agent/observe/metrics.ts";
import { ERRORS } from "../../common/errors.ts";
import * as CONTROLLER from "../../controller/observe/metric-table.ts";
import { ControllerMetrics } from "../../controller/observe/metrics.ts";
import { filesBelow } from "../../scripts/architecture/sources.ts";
import { anchorsOf } from "../../scripts/documents/anchors.ts";
import { BLOCKS } from "../../scripts/documents/blocks.ts";
import { markdownTable, withBlock } from "../../scripts/documents/markers.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

test("generated blocks of documents match the code (node scripts/documents.ts --write)", () => {
  for (const { document, name, text } of BLOCKS) {
    const written = read(document);
    const block = withBlock(written, name, text);
    assert.equal(block, written, `${document}: ${name} is behind the code`);
  }
});

test("ERRORS.md has instructions for every code, and for no other", () => {
  const said = [...read("docs/ERRORS.md").matchAll(/^### (\S+)$/gm)].map(([, code = ""]) => code);
  assert.deepEqual(said, Object.keys(ERRORS));
});

test("METRICS.md lists every served metric, with its type and help, and no other", async () => {
  const texts = await Promise.all([new AgentMetrics().text(), new ControllerMetrics().text()]);
  const lines = texts.join("\n").split("\n");
  const served = (word: "HELP" | "TYPE"): Map<string, string> =>
    new Map(
      lines
        .filter((line) => line.startsWith(`# ${word} `))
        .map((line) => line.slice(7).split(/ (.*)/, 2) as [string, string]),
    );
  const rows = [...read("docs/METRICS.md").matchAll(/^\| `(\S+)` \| (\w+) \| .* \| (.*) \|$/gm)];
  const documented = new Map(rows.map(([, name = "", type, help]) => [name, { type, help }]));
  assert.deepEqual([...documented.keys()].sort(), [...served("TYPE").keys()].sort());
  for (const [name, { type, help }] of documented) {
    assert.equal(type, served("TYPE").get(name), name);
    assert.equal(help, served("HELP").get(name), name);
  }
});

test("metrics are named by the conventions of Prometheus", () => {
  for (const { COUNTERS, GAUGES, HISTOGRAMS } of [AGENT, CONTROLLER]) {
    for (const { name } of Object.values(COUNTERS)) assert.match(name, /^[a-z_]+_total$/);
    for (const { name } of Object.values(HISTOGRAMS)) assert.match(name, /^[a-z_]+_seconds$/);
    for (const { name } of Object.values(GAUGES)) assert.match(name, /^[a-z_]+(?<!_total)$/);
  }
});

const METRICS = new Set(
  [AGENT, CONTROLLER].flatMap(({ METRIC_PREFIX, HISTOGRAMS, COUNTERS, GAUGES }) =>
    [HISTOGRAMS, COUNTERS, GAUGES]
      .flatMap((table) => Object.values(table))
      .map(({ name }) => `${METRIC_PREFIX}${name}`),
  ),
);
const isMetric = (name: string): boolean =>
  METRICS.has(name) || METRICS.has(name.replace(/_(bucket|sum|count)$/, ""));

for (const [what, pattern, isRight] of [
  ["metrics exist", /clusterset_(?:agent|controller)_[a-z_]*[a-z]/g, isMetric],
  ["error codes exist", /\bCSP_[A-Z_]*[A-Z]\b/g, (code: string) => Object.hasOwn(ERRORS, code)],
  [
    "no path is one of its writer's machine",
    /(?<![\w.:/-])\/(work|root|home|Users|farm)\//g,
    () => false,
  ],
] as const) {
  test(`in documents, ${what}`, () => {
    for (const document of documents()) {
      for (const [found] of read(document).matchAll(pattern)) {
        assert.ok(isRight(found), `${document}: ${found}`);
      }
    }
  });
}

test("links in documents lead to existing files and headings", () => {
  for (const document of documents()) {
    for (const [, link = ""] of read(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? document : join(dirname(document), path);
      assert.ok(existsSync(join(root, target)), `${document}: ${link}`);
      if (anchor !== undefined) {
        assert.ok(anchorsOf(read(target)).includes(anchor), `${document}: ${link}`);
      }
    }
  }
});

/** The numbers of `1, 2`, `35 to 45` or `C01 to C14`. */
function numbersOf(text: string): number[] {
  return [...text.matchAll(/(\d+)(?: to C?(\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );
}

test("MCS-API.md explains every number in test names, and names existing files", () => {
  const [, ...tables] = read("docs/MCS-API.md").split(/^\| (?=Item|Trap|Cases)/m);
  const rows = tables.map((table) =>
    [...table.matchAll(/^\| (C?\d[^|]*)\|.*\| ([^|]*) \|$/gm)].map(([, numbers = "", by = ""]) => ({
      numbers: numbersOf(numbers),
      by,
    })),
  );
  const [items = [], traps = [], cases = []] = rows.map((table) =>
    table.flatMap(({ numbers }) => numbers),
  );
  assert.ok(items.length > 0 && traps.length > 0 && cases.length > 0);
  const tests = ["test/apiserver", "test/e2e"].flatMap((folder) => filesBelow(root, folder, ".ts"));
  for (const path of tests) {
    for (const [, title = ""] of read(path).matchAll(/\btest\(\s*["`]([^"`]+)["`]/g)) {
      const [, item = ""] = /^items? ([\d, toand]+)/.exec(title) ?? [];
      const found = (pattern: RegExp) => [...title.matchAll(pattern)].map(([, n]) => Number(n));
      const known =
        numbersOf(item).every((n) => items.includes(n)) &&
        found(/\btrap (\d+)/g).every((n) => traps.includes(n)) &&
        found(/\bC(\d\d)\b/g).every((n) => cases.includes(n));
      assert.ok(known, `${path}: ${title}`);
    }
  }
  for (const { by } of rows.flat()) {
    for (const [, name = ""] of by.matchAll(/`([^`]+)`/g)) {
      const places = ["test/apiserver", "test", ""].map((at) => join(root, at, name));
      const isThere = places.some((one) => existsSync(one) || existsSync(`${one}.test.ts`));
      assert.ok(isThere, `docs/MCS-API.md: ${name}`);
    }
  }
});

function documents(): string[] {
  const found = filesBelow(root, "", ".md");
  assert.ok(found.includes("docs/ERRORS.md"));
  return found;
}

test("a block is replaced in its place, and nothing else changes", () => {
  const document = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n<!-- y -->\n<!-- /y -->\n";
  assert.equal(withBlock(document, "x", "new\n"), document.replace("old", "new"));
  assert.throws(() => withBlock(document, "z", ""), /expected one block between <!-- z -->/);
  assert.throws(() => withBlock(document + document, "x", ""), /expected one block/);
});

test("a bar inside a table cell does not end it", () => {
  assert.equal(markdownTable(["A"], [["a|b"]]), "| A |\n| --- |\n| a\\|b |\n");
});

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
  return path === undefined || exists(path) ? missingPart(code) : path;
}

/** Parts of the tests that `node scripts/test.ts` runs. */
const PARTS = ["unit", "test", "rest", "here", "guest", "third"];

/** What `node scripts/test.ts` is to run, if it is neither a part of the tests nor a file. Variables and placeholders are any. */
function missingPart(code: string): string | undefined {
  const [, argument] = /\bnode scripts\/test\.ts +([^\s;|&)]+)/.exec(code) ?? [];
  if (argument === undefined || PARTS.includes(argument) || /[$<>]|^[A-Z]+$/.test(argument)) return;
  return exists(argument.replaceAll(/["']/g, "")) ? undefined : argument;
}

const exists = (path: string): boolean =>
  globSync(path.replace(/,$/, ""), { cwd: root }).length > 0;

test("targets, scripts and paths that documents name in code style exist", () => {
  for (const document of documents()) {
    // The CHANGELOG also names what was.
    if (document === "CHANGELOG.md") continue;
    for (const code of codeOf(read(document))) assert.equal(missingIn(code), undefined, document);
  }
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

test("each right, promise and limit of SECURITY.md names tests that exist", () => {
  const text = read("SECURITY.md");
  const rows = text.split("\n").filter((line) => /^\| (?!---)/.test(line));
  const isHeading = (row: string): boolean => row.endsWith("| Shown by |");
  assert.equal(rows.filter(isHeading).length, 3);
  const items = ["Hardening", "What fails static", "Cut off a peer"].flatMap((heading) => {
    const [, section = ""] = new RegExp(`^## ${heading}\\n(.*?)^## `, "ms").exec(text) ?? [];
    const found = section.split(/^(?:\*|\d\.) /m).slice(1);
    assert.ok(found.length > 2, heading);
    return found;
  });
  for (const row of [...rows.filter((row) => !isHeading(row)), ...items]) {
    // The last cell of a row; what shows an item of a list is somewhere in it.
    const shown = row.startsWith("|") ? (row.split("|").at(-2) ?? "") : row;
    const tests = [...shown.matchAll(/\]\(([\w./-]+\.ts)\)/g)].map(([, path = ""]) => path);
    assert.ok(tests.length > 0, row);
    for (const path of tests) assert.ok(exists(path) && /\btest\b/.test(path), path);
  }
});

test("a name that does not exist is found", () => {
  for (const [code, missing] of [
    ...["make no-target", "npm run none", "npm run test:none", "api/*.none"].map((one) => [
      one,
      one,
    ]),
    ["see test/none.ts", "test/none.ts"],
    ["node scripts/test.ts servers", "servers"],
    ...["make test", "npm test", "node scripts/test.ts unit", "agent/*/README.md"].map((one) => [
      one,
    ]),
  ])
    assert.equal(missingIn(code ?? ""), missing);
});

/** `a/{b,c}/d` as `a/b/d` and `a/c/d`. */
function alternatives(path: string): string[] {
  const [, begin = "", inner, end = ""] = /^(.*?)\{([^{}]*)\}(.*)$/.exec(path) ?? [];
  if (inner === undefined) return [path];
  return inner.split(",").flatMap((one) => alternatives(`${begin}${one}${end}`));
}

/** What lines of shell or make name that does not exist: paths, also without `.test.ts`, and parts of the tests. */
function missingInCommands(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const words = line.replace(/(^|\s)#.*/, "").split(/[\s"'=:;|()]+/);
    const paths = words
      .filter((word) => PATH.test(word))
      .flatMap(alternatives)
      .filter((path) => !exists(path) && !exists(`${path}.test.ts`));
    return paths.concat(missingPart(line) ?? []);
  });
}

test("scripts of npm, the Makefile, .ci/run and scripts name files and parts of the tests that exist", () => {
  const files = ["Makefile", ".ci/run", "scripts/prepare", "scripts/fresh"];
  const texts = { ...scripts, ...Object.fromEntries(files.map((path) => [path, read(path)])) };
  for (const [name, text] of Object.entries(texts))
    assert.deepEqual(missingInCommands(text), [], name);
  const commands = "node scripts/test.ts servers && node scripts/none.ts 'test/{unit,none}/**'";
  const missing = ["scripts/none.ts", "test/none/**", "servers"];
  assert.deepEqual(missingInCommands(commands), missing);
});
