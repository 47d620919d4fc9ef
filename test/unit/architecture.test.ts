import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { specifiersOf } from "../../scripts/architecture/imports.ts";
import { readSources } from "../../scripts/architecture/sources.ts";
import { RULES } from "../../scripts/architecture/table.ts";
import { idleRules, violations } from "../../scripts/architecture/violations.ts";

const sources = readSources(join(import.meta.dirname, "../.."));

test("the tree follows the import table and the rules of the project", () => {
  assert.ok(sources.has("agent/main.ts") && sources.has("api/address.ts"));
  assert.deepEqual(violations(sources), []);
});

test("every rule of the table applies to a file", () => {
  assert.deepEqual(idleRules(sources), []);
});

/** A log message that ends with a full stop: in a call of a logger, or in a `LogLine`. */
const FULL_STOP =
  /(\.(trace|debug|info|warn|error)\(\s*|\bline\(\s*"\w+",\s*|\blevel(: "\w+")?,\s*message:\s*)(["`])[A-Z][^"`\n]*\.\4/g;

test("no log message of a program ends with a full stop", () => {
  const found = [...sources]
    .filter(([file]) => /^(agent|common|controller)\//.test(file) && !file.endsWith(".test.ts"))
    .flatMap(([file, text]) => [...text.matchAll(FULL_STOP)].map(([call]) => `${file}: ${call}`));
  assert.deepEqual(found, []);
});

/** What is wrong with a tree of these files, without the file names. */
function faults(files: Readonly<Record<string, string>>): string[] {
  return violations(new Map(Object.entries(files)));
}

/** What is wrong with one file that imports these. */
function importing(file: string, ...targets: readonly string[]): string[] {
  return faults({ [file]: targets.map((target) => `import { x } from "${target}";\n`).join("") });
}

test("an import that the table does not allow is found: of Node, of a package, of another part and of a sibling's folder", () => {
  for (const [file, target] of [
    ["agent/model/model.ts", "node:crypto"],
    ["common/log.ts", "yaml"],
    ["agent/plan/plan.ts", "../backends/backend.ts"],
    ["agent/backends/iptables/render.ts", "../ipvs/render.ts"],
    ["agent/command/run.ts", "../../test/doubles/fake-clock.ts"],
  ] as const) {
    const found = importing(file, target).join("\n");
    assert.match(found, new RegExp(`^${file}: may not import `, "m"), `${file} ${target}`);
  }
});

/** Trees by what is wrong with them, and all faults that are found. */
const FAULTS: Readonly<Record<string, readonly [files: Record<string, string>, ...string[]]>> = {
  "a file outside of the table": [
    { "controller/merge.ts": "" },
    "controller/merge.ts: belongs to no rule of the import table",
  ],
  "a pure file that imports one that is not, also in its own folder": [
    { "agent/backends/iptables/render.ts": 'import { x } from "./read.ts";\n' },
    "agent/backends/iptables/render.ts: is pure and imports agent/backends/iptables/read.ts, which is not",
  ],
  "an import cycle, also of types only; a file that imports it is not part of it": [
    {
      "agent/plan/a.ts": 'import type { B } from "./b.ts";\n',
      "agent/plan/b.ts": 'import { c } from "./c.ts";\n',
      "agent/plan/c.ts": 'export type { A } from "./a.ts";\n',
      "agent/plan/d.ts": 'import type { A } from "./a.ts"; import type { E } from "./e.ts";\n',
      "agent/plan/e.ts": 'import type { E } from "./e.ts";\n',
    },
    "agent/plan/a.ts -> agent/plan/b.ts -> agent/plan/c.ts -> agent/plan/a.ts: a cycle of imports",
    "agent/plan/e.ts -> agent/plan/e.ts: a cycle of imports",
  ],
  "a file of more than 400 lines": [
    { "api/a.ts": "x;\n".repeat(401), "api/b.ts": "x;\n".repeat(400) },
    "api/a.ts: has 401 lines, more than 400",
  ],
  "a meaningless name": [
    Object.fromEntries(
      ["util.ts", "string-helpers.ts", "misc/x.ts", "task-manager.test.ts", "utility-pole.ts"].map(
        (name) => [`api/${name}`, ""],
      ),
    ),
    ...["util.ts", "string-helpers.ts", "misc/x.ts", "task-manager.test.ts"].map(
      (name) => `api/${name}: its name says nothing`,
    ),
  ],
};

for (const [what, [files, ...expected]] of Object.entries(FAULTS))
  test(`a fault: ${what}`, () => assert.deepEqual(faults(files).sort(), expected.sort()));

test("an import of a program or a test is a fault", () => {
  const program = "agent/command/run.ts: imports agent/main.ts, which is to be started";
  assert.ok(importing("agent/command/run.ts", "../main.ts").includes(program));
  assert.equal(importing("agent/command/run.ts", "../plan/plan.test.ts").length, 1);
  assert.equal(importing("test/x.test.ts", "../scripts/build.ts").length, 1);
});

test("a pure file that uses a clock, random numbers, the process or module state is a fault; words in comments are not", () => {
  const impure = [
    "const now = Date.now();",
    "const now = new Date();",
    "const x = Math.random();",
    "const x = process.env.HOME;",
    "console.log(1);",
    "const now = performance.now();",
    "setTimeout(run, 1);",
    "await fetch(url);",
    "let count = 0;",
    "export let count = 0;",
  ];
  for (const line of impure) {
    const found = faults({ "agent/plan/x.ts": `${line}\n` }).join("\n");
    assert.match(found, /is pure and uses/, line);
    const elsewhere = faults({ "agent/sync/x.ts": `${line}\n` });
    assert.ok(!elsewhere.some((fault) => !/time of day/.test(fault)), line);
  }
  const pure = [
    "// Date.now() and process.env are for others.",
    " * console.log(1)",
    "const time = Date.parse(text);",
    "  let count = 0;",
    "const processed = 1;",
  ];
  for (const line of pure) assert.deepEqual(faults({ "agent/plan/x.ts": `${line}\n` }), [], line);
});

test("code that waits or measures uses the monotonic clock; code that prints the time may use the system time", () => {
  for (const line of ["x = Date.now();", "x = new Date();", "gauge.setToCurrentTime();"]) {
    for (const file of ["agent/sync/x.ts", "agent/observe/x.ts", "common/x.ts"]) {
      const expected = [`${file}: asks for the time of day, not for Clock`];
      assert.deepEqual(faults({ [file]: `${line}\n` }), expected, line);
    }
    for (const file of ["agent/observe/observer.ts", "test/kernel/x.test.ts", "common/x.test.ts"]) {
      assert.deepEqual(faults({ [file]: `${line}\n` }), [], line);
    }
  }
  assert.deepEqual(faults({ "agent/sync/x.ts": "x = new Date(text);\n" }), []);
});

test("only the record of backends and a backend's own folder name the backend", () => {
  const text = 'if (name === "ipvs") return;\n';
  for (const file of [
    "agent/command/run.ts",
    "agent/backends/backend-kind.ts",
    "agent/backends/iptables/kind.ts",
    "common/x.ts",
    "api/x.ts",
  ]) {
    assert.deepEqual(faults({ [file]: text }), [`${file}: names the backend ipvs`]);
  }
  for (const file of ["agent/backends/names.ts", "agent/backends/ipvs/kind.ts", "api/x.test.ts"]) {
    assert.deepEqual(faults({ [file]: text }), [], file);
  }
  for (const line of ['x = "ipvs-scheduler";', "// Not with ipvs.", 'say("ipvs is better");']) {
    assert.deepEqual(faults({ "agent/command/run.ts": `${line}\n` }), [], line);
  }
});

test("every form of import is found", () => {
  const text = [
    'import a from "a";',
    'import type { b } from "b";',
    "import {",
    "  c,",
    "  type d,",
    '} from "c";',
    'import * as e from "e";',
    'import "f";',
    'import json from "g.json" with { type: "json" };',
    'export { h } from "h";',
    'export * from "i";',
    'const j = await import("j");',
    'const k = require("k");',
    '// import l from "l";',
    ' * import m from "m";',
    'export const n = "from";',
    'const o = text.split("//"), p = await import("p");',
  ].join("\n");
  assert.equal(specifiersOf(text).sort().join(" "), "a b c e f g.json h i j k p");
});

test("the table allows only tests, bench, demo and scripts to import the whole tree", () => {
  const wide = RULES.filter(({ may }) => may.includes("**"));
  const files = wide.map((rule) => rule.files.join(" "));
  assert.deepEqual(files, ["**/*.test.ts test/** bench/** demo/** scripts/**"]);
});
