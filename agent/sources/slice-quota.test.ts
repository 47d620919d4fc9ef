import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Problem } from "../../api/problem.ts";
import { sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { SliceFact } from "../model/facts.ts";
import { ObjectTable, type ParsedObject } from "./object-table.ts";
import { SliceQuota } from "./slice-quota.ts";

const MOST = 5;

/** Slices of any namespace, of which at most five endpoints each are kept. */
class Stage {
  readonly facts = new Map<string, SliceFact>();
  readonly reports: string[] = [];
  readonly #quota: SliceQuota;

  constructor() {
    const problems = () => undefined;
    const table = new ObjectTable<SliceFact>({
      changed: (fact) => void this.facts.set(fact.key, fact),
      removed: ({ key }) => void this.facts.delete(key),
      problems,
    });
    this.#quota = new SliceQuota(table, MOST, (object: string, list: readonly Problem[]) => {
      this.reports.push([object, ...list.map(({ reason }) => reason)].join(": "));
    });
  }

  /** False if endpoints are left out. */
  set(namespace: string, name: string, count: number | undefined): boolean {
    const key = `${namespace}/${name}` as const;
    const endpoints = Array.from({ length: count ?? 0 }, (_, i) => `10.1.0.${i}`);
    const parsed: ParsedObject<SliceFact> = {
      object: key,
      problems: [],
      fact: sliceFact({ key, importKey: `${namespace}/serve`, endpoints }),
    };
    return this.#quota.set(key, count === undefined ? undefined : parsed, 0);
  }

  /** Endpoints of each slice; `-` if they are left out. */
  kept(): string[] {
    return [...this.facts]
      .map(([key, { endpoints, omitted }]) => `${key} ${omitted ? "-" : endpoints.length}`)
      .sort();
  }
}

test("slices beyond the endpoints of a namespace are kept without theirs, until they are read again when there is room", () => {
  const stage = new Stage();
  assert.equal(stage.set("a", "x", 3), true);
  assert.equal(stage.set("a", "y", 3), false);
  assert.equal(stage.set("a", "z", 2), true);
  assert.equal(stage.set("b", "x", 5), true);
  assert.deepEqual(stage.kept(), ["a/x 3", "a/y -", "a/z 2", "b/x 5"]);
  assert.equal(stage.set("a", "y", 3), false);
  stage.set("a", "x", undefined);
  assert.equal(stage.set("a", "y", 3), true);
  assert.deepEqual(stage.kept(), ["a/y 3", "a/z 2", "b/x 5"]);
  assert.deepEqual(stage.reports, [
    "EndpointSlices of a: too-many-endpoints",
    "EndpointSlices of a",
  ]);
});

test("a slice that grows beyond loses its endpoints, and one without endpoints always fits", () => {
  const stage = new Stage();
  stage.set("a", "x", 2);
  stage.set("a", "y", 2);
  assert.equal(stage.set("a", "x", 4), false);
  assert.equal(stage.set("a", "z", 0), true);
  assert.deepEqual(stage.kept(), ["a/x -", "a/y 2", "a/z 0"]);
});

test("after any history, no namespace has more, and a slice that alone is left out fits if it is read again", async () => {
  const step = fc.record({
    namespace: fc.constantFrom("a", "b"),
    name: fc.constantFrom("x", "y", "z"),
    count: fc.option(fc.nat(7), { nil: undefined }),
  });
  await forAll([fc.array(step, { maxLength: 20 })], (steps) => {
    const stage = new Stage();
    for (const { namespace, name, count } of steps) stage.set(namespace, name, count);
    for (const namespace of ["a", "b"]) {
      const own = [...stage.facts].filter(([key]) => key.startsWith(namespace));
      const used = own.reduce((sum, [, { endpoints }]) => sum + endpoints.length, 0);
      assert.ok(used <= MOST);
      assert.equal(stage.set(namespace, "last", MOST - used), true);
      assert.equal(stage.set(namespace, "more", 1), false);
    }
  });
});
