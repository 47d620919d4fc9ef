import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { cyclesOf } from "../../scripts/architecture/cycles.ts";
import { specifiersOf } from "../../scripts/architecture/imports.ts";
import { readSources } from "../../scripts/architecture/sources.ts";
import { RULES } from "../../scripts/architecture/table.ts";
import { idleRules, violations } from "../../scripts/architecture/violations.ts";

const sources = readSources(join(import.meta.dirname, "../.."));

test("the tree keeps to the import table and to the laws of the house", () => {
  assert.ok(sources.has("agent/main.ts") && sources.has("api/address.ts"));
  assert.deepEqual(violations(sources), []);
});

test("every rule of the table is the rule of some file", () => {
  assert.deepEqual(idleRules(sources), []);
});

/** What is wrong with a tree of these files, without the file names. */
function faults(files: Readonly<Record<string, string>>): string[] {
  return violations(new Map(Object.entries(files)));
}

/** What is wrong with one file that imports these. */
function importing(file: string, ...targets: readonly string[]): string[] {
  return faults({ [file]: targets.map((target) => `import { x } from "${target}";\n`).join("") });
}

test("each part of the tree is kept from what it must not import", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["api/address.ts", "node:net"],
    ["api/address.ts", "../common/errors.ts"],
    ["common/log.ts", "../agent/config/config.ts"],
    ["common/log.ts", "yaml"],
    ["agent/model/model.ts", "node:crypto"],
    ["agent/model/model.ts", "../../common/log.ts"],
    ["agent/plan/plan.ts", "../../common/clock.ts"],
    ["agent/plan/plan.ts", "../backends/backend.ts"],
    ["agent/backends/backend.ts", "./iptables/iptables.ts"],
    ["agent/backends/iptables/render.ts", "node:fs"],
    ["agent/backends/iptables/render.ts", "../../system/exec.ts"],
    ["agent/backends/iptables/render.ts", "../ipvs/render.ts"],
    ["agent/backends/iptables/read.ts", "../ipvs/read.ts"],
    ["agent/backends/iptables/read.ts", "node:child_process"],
    ["agent/sync/agent.ts", "../backends/iptables/iptables.ts"],
    ["agent/sync/agent.ts", "../sources/manifests/manifests-source.ts"],
    ["agent/sync/agent.ts", "node:fs"],
    ["agent/sources/manifests/sight.ts", "node:child_process"],
    ["agent/sources/manifests/sight.ts", "../../plan/plan.ts"],
    ["agent/observe/metrics.ts", "node:os"],
    ["agent/observe/metrics.ts", "../backends/iptables/iptables.ts"],
    ["agent/config/config.ts", "node:fs"],
    ["agent/system/exec.ts", "../model/facts.ts"],
    ["agent/command/run.ts", "../../controller/merge.ts"],
    ["agent/command/run.ts", "node:child_process"],
    ["agent/command/run.ts", "../../test/support/fake-clock.ts"],
    ["images/serve/serve.ts", "../../common/log.ts"],
  ];
  for (const [file, target] of cases) {
    const found = importing(file, target);
    const expected = `${file}: may not import `;
    assert.ok(
      found.some((fault) => fault.startsWith(expected)),
      `${file} ${target}`,
    );
  }
});

test("what the table allows is no fault", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["api/cidr.ts", "./address.ts"],
    ["common/http.ts", "node:stream/promises"],
    ["agent/plan/plan.ts", "../model/facts.ts"],
    ["agent/backends/iptables/render.ts", "node:crypto"],
    ["agent/backends/iptables/read.ts", "../../system/exec.ts"],
    ["agent/sources/manifests/sight.ts", "node:fs/promises"],
    ["agent/command/backends.ts", "../backends/iptables/iptables.ts"],
    ["agent/observe/metrics.ts", "prom-client"],
    ["agent/plan/plan.test.ts", "fast-check"],
    ["test/kernel/x.test.ts", "../../agent/backends/iptables/read.ts"],
  ];
  for (const [file, target] of cases) {
    assert.deepEqual(importing(file, target), [], `${file} ${target}`);
  }
});

test("a file of a part that the table does not know is a fault", () => {
  assert.deepEqual(faults({ "controller/merge.ts": "" }), [
    "controller/merge.ts: belongs to no rule of the import table",
  ]);
});

test("nobody imports a program, nor a test", () => {
  assert.deepEqual(importing("agent/command/run.ts", "../main.ts"), [
    "agent/command/run.ts: imports agent/main.ts, which is to be started",
  ]);
  assert.equal(importing("agent/command/run.ts", "../plan/plan.test.ts").length, 1);
  assert.equal(importing("test/x.test.ts", "../scripts/build.ts").length, 1);
});

test("a pure file imports pure files only, its own folder's included", () => {
  assert.deepEqual(importing("agent/backends/iptables/render.ts", "./read.ts"), [
    "agent/backends/iptables/render.ts: is pure and imports agent/backends/iptables/read.ts, which is not",
  ]);
});

test("a pure file with a clock, chance, the process or a memory is a fault; words in comments are not", () => {
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
    const found = faults({ "agent/plan/x.ts": `${line}\n` });
    assert.ok(
      found.some((fault) => /is pure and uses/.test(fault)),
      line,
    );
    const elsewhere = faults({ "agent/sync/x.ts": `${line}\n` });
    assert.deepEqual(
      elsewhere.filter((fault) => !/time of day/.test(fault)),
      [],
      line,
    );
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

test("who waits or measures asks no clock that somebody may set; who prints the time may", () => {
  for (const line of ["x = Date.now();", "x = new Date();", "gauge.setToCurrentTime();"]) {
    for (const file of ["agent/sync/x.ts", "agent/observe/x.ts", "common/x.ts"]) {
      const expected = [`${file}: asks for the time of day, not for Clock`];
      assert.deepEqual(faults({ [file]: `${line}\n` }), expected, line);
    }
    for (const file of ["agent/observe/metrics.ts", "test/kernel/x.test.ts", "common/x.test.ts"]) {
      assert.deepEqual(faults({ [file]: `${line}\n` }), [], line);
    }
  }
  assert.deepEqual(faults({ "agent/sync/x.ts": "x = new Date(text);\n" }), []);
});

test("a cycle is a fault, of types only as well", () => {
  const files = {
    "agent/plan/a.ts": 'import type { B } from "./b.ts";\n',
    "agent/plan/b.ts": 'import { c } from "./c.ts";\n',
    "agent/plan/c.ts": 'export type { A } from "./a.ts";\n',
    "agent/plan/d.ts": 'import type { A } from "./a.ts";\n',
  };
  assert.deepEqual(faults(files), [
    "agent/plan/a.ts -> agent/plan/b.ts -> agent/plan/c.ts -> agent/plan/a.ts: a cycle of imports",
  ]);
});

test("a file that leads to a cycle is not on it, and two cycles are two", () => {
  const graph = new Map([
    ["lead", ["a"]],
    ["a", ["b", "self"]],
    ["b", ["a"]],
    ["self", ["self"]],
  ]);
  assert.deepEqual(cyclesOf(graph), [
    ["a", "b", "a"],
    ["self", "self"],
  ]);
});

test("a file of more than 400 lines, or with a name that says nothing, is a fault", () => {
  assert.deepEqual(faults({ "api/a.ts": "x;\n".repeat(400) }), []);
  assert.deepEqual(faults({ "api/a.ts": "x;\n".repeat(401) }), [
    "api/a.ts: has 401 lines, more than 400",
  ]);
  for (const name of ["util.ts", "string-helpers.ts", "misc/x.ts", "task-manager.test.ts"]) {
    assert.deepEqual(faults({ [`api/${name}`]: "" }), [`api/${name}: its name says nothing`]);
  }
  assert.deepEqual(faults({ "api/utility-pole.ts": "" }), []);
});

test("every form of import is seen", () => {
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
  assert.deepEqual(specifiersOf(text).sort(), [
    "a",
    "b",
    "c",
    "e",
    "f",
    "g.json",
    "h",
    "i",
    "j",
    "k",
    "p",
  ]);
});

test("the table itself allows the whole tree to tests only", () => {
  const wide = RULES.filter(({ may }) => may.includes("**"));
  assert.deepEqual(
    wide.map(({ files }) => files),
    [["**/*.test.ts", "test/**", "scripts/**"]],
  );
});
