import assert from "node:assert/strict";
import { test } from "node:test";
import { candidates } from "./candidates.ts";
import { createProgram } from "./program.ts";

const program = createProgram(
  {
    out: () => undefined,
    note: () => undefined,
    ask: () => Promise.resolve(undefined),
    paint: (_style, text) => text,
    env: {},
    home: "/nowhere",
    user: "ann",
    timeOfDay: () => 0,
    signal: new AbortController().signal,
  },
  () => undefined,
);
const valuesOf = (placeholder: string) =>
  ["names", "context", "contexts"].includes(placeholder) ? ["dev", "prod-1", "prod-2"] : [];
const of = (...words: string[]) => candidates(program, words, valuesOf);

test("commands complete by their beginning; internal ones do not", () => {
  assert.deepEqual(of("dr"), ["drain", "drill"]);
  assert.ok(of("").includes("undrain"));
  assert.ok(of("").every((word) => !word.startsWith("_")));
});

test("flags are those of the command, and values those of the flag", () => {
  assert.deepEqual(of("drain", "c2", "--rea"), ["--reason"]);
  assert.deepEqual(of("undrain", "c2", "--rea"), []);
  assert.deepEqual(of("drain", "--at", ""), ["hub", "own", "peer"]);
  assert.deepEqual(of("simulate", "--output=j"), ["--output=json"]);
  assert.deepEqual(of("simulate", "-o", "y"), ["yaml"]);
  assert.deepEqual(of("drain", "--reason", ""), [], "any text");
});

test("contexts complete one by one, also behind a comma", () => {
  assert.deepEqual(of("drain", "c2", "--context", "pr"), ["prod-1", "prod-2"]);
  assert.deepEqual(of("drain", "c2", "--context", "dev,p"), ["dev,prod-1", "dev,prod-2"]);
  assert.deepEqual(of("join", "prod-1", "--hub", "d"), ["dev"]);
});

test("contexts that are arguments complete, each once; cluster IDs and Services do not", () => {
  for (const command of ["join", "rotate", "upgrade", "leave"])
    assert.deepEqual(of(command, "pr"), ["prod-1", "prod-2"]);
  assert.deepEqual(of("join", "prod-1", "--clusterset", "x", ""), ["dev", "prod-2"]);
  assert.deepEqual(of("drain", ""), []);
});
