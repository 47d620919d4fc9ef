import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { SliceFact } from "../model/facts.ts";
import { ObjectTable } from "./object-table.ts";
import { SliceQuota } from "./slice-quota.ts";

const MOST = 5;

/** Slices of any namespace, of which at most five endpoints each are kept. */
class Stage {
  readonly facts = new Map<string, SliceFact>();
  readonly reports: string[] = [];
  /** What the API server has: the source cluster and endpoints of each slice. */
  readonly #objects = new Map<string, { readonly cluster: string; readonly count: number }>();
  readonly #again = new Set<string>();
  readonly #quota: SliceQuota;

  constructor() {
    const table = new ObjectTable<SliceFact>({
      changed: (fact) => void this.facts.set(fact.key, fact),
      removed: ({ key }) => void this.facts.delete(key),
      problems: () => undefined,
    });
    this.#quota = new SliceQuota(table, MOST, {
      problems: (object, list) =>
        void this.reports.push([object, ...list.map(({ reason }) => reason)].join(": ")),
      room: (keys) => {
        for (const key of keys) this.#again.add(key);
      },
    });
  }

  /** A list begins. */
  begin(): void {
    this.#quota.begin();
  }

  /** It is complete. */
  end(): void {
    this.#quota.end();
  }

  /** `name`: of a namespace, a cluster and a slice, such as `a/c1/x`. */
  set(name: string, count: number | undefined): void {
    const [namespace = "", cluster = "", slice = ""] = name.split("/");
    const key = `${namespace}/${cluster}-${slice}`;
    if (count === undefined) this.#objects.delete(key);
    else this.#objects.set(key, { cluster, count });
    this.#deliver(key);
  }

  /** Reads again what the quota has asked for, until it asks for nothing: with a list, as a reflector does. */
  readAgain(): void {
    while (this.#again.size > 0) {
      const keys = [...this.#again];
      this.#again.clear();
      this.begin();
      for (const key of keys) this.#deliver(key);
      this.end();
    }
  }

  /** Endpoints of all slices. */
  get size(): number {
    return [...this.facts.values()].reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  }

  /** Endpoints of each slice, and of how many. */
  kept(): string[] {
    return [...this.facts]
      .map(([key, { endpoints, omitted }]) => {
        const { count } = this.#objects.get(key) ?? {};
        assert.equal(omitted === true, endpoints.length !== count, key);
        return `${key} ${endpoints.length}/${count}`;
      })
      .sort();
  }

  #deliver(key: string): void {
    const { cluster, count } = this.#objects.get(key) ?? {};
    const [namespace, name] = key.split("/");
    if (count === undefined || cluster === undefined) {
      this.#quota.set(key, undefined, 0);
      return;
    }
    const endpoints = Array.from({ length: count }, (_, i) => `10.1.0.${i}`);
    const fact = sliceFact({
      ...{ key: `${namespace}/${name}`, importKey: `${namespace}/serve`, cluster, endpoints },
    });
    this.#quota.set(key, { object: key, problems: [], fact }, 0);
  }
}

test("clusters share the endpoints of a namespace, and slices those of a cluster, in any order of arrival", () => {
  const all = [
    ["a/c9/x", 9],
    ["a/c9/y", 9],
    ["a/c1/x", 1],
    ["b/c1/x", 5],
  ] as const;
  for (const list of [all, all.toReversed()]) {
    const stage = new Stage();
    for (const [name, count] of list) stage.set(name, count);
    assert.deepEqual(stage.kept(), ["a/c1-x 1/1", "a/c9-x 2/9", "a/c9-y 2/9", "b/c1-x 5/5"]);
    assert.deepEqual(stage.reports, ["EndpointSlices of a: too-many-endpoints"]);
  }
});

test("a slice that grows beyond its share keeps its first endpoints", () => {
  const stage = new Stage();
  stage.set("a/c1/x", 2);
  stage.set("a/c2/x", 3);
  stage.set("a/c1/x", 4);
  stage.set("a/c1/empty", 0);
  assert.deepEqual(stage.kept(), ["a/c1-empty 0/0", "a/c1-x 2/4", "a/c2-x 2/3"]);
});

test("what was left out is asked for again once there is room", () => {
  const stage = new Stage();
  stage.set("a/c1/x", 4);
  stage.set("a/c2/x", 4);
  stage.set("a/c3/x", 1);
  stage.readAgain();
  assert.deepEqual(stage.kept(), ["a/c1-x 2/4", "a/c2-x 2/4", "a/c3-x 1/1"]);
  stage.set("a/c1/x", undefined);
  stage.readAgain();
  assert.deepEqual(stage.kept(), ["a/c2-x 4/4", "a/c3-x 1/1"]);
  assert.deepEqual(stage.reports, [
    "EndpointSlices of a: too-many-endpoints",
    "EndpointSlices of a",
  ]);
});

test("after any history, once what is asked for was read again, what is kept is as after a start, in any order, and never too much", async () => {
  const step = fc.record({
    namespace: fc.constantFrom("a", "b"),
    cluster: fc.constantFrom("c1", "c2"),
    slice: fc.constantFrom("x", "y"),
    count: fc.option(fc.nat(7), { nil: undefined }),
  });
  await forAll([fc.array(step, { maxLength: 20 }), fc.boolean()], (steps, isReversed) => {
    const stage = new Stage();
    const now = new Map<string, number>();
    for (const { namespace, cluster, slice, count } of steps) {
      const name = `${namespace}/${cluster}/${slice}`;
      stage.set(name, count);
      if (count === undefined) now.delete(name);
      else now.set(name, count);
      for (const one of ["a/", "b/"]) {
        const own = [...stage.facts].filter(([key]) => key.startsWith(one));
        assert.ok(own.reduce((sum, [, { endpoints }]) => sum + endpoints.length, 0) <= MOST);
      }
    }
    stage.readAgain();
    const started = new Stage();
    const list = isReversed ? [...now].toReversed() : [...now];
    started.begin();
    for (const [name, count] of list) started.set(name, count);
    const most = Math.max(0, ...list.map(([, count]) => count));
    assert.ok(started.size <= 2 * Math.max(1.25 * MOST, most));
    started.end();
    assert.deepEqual(stage.kept(), started.kept());
  });
});
