import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";

/** A reflection that knew these objects before it began, of a server that has those. */
function reflection(known: readonly string[], actual: readonly string[]): ReflectorStage {
  const before = new Map(known.map((name) => [`shop/${name}`, -1]));
  const it = new ReflectorStage({ optional: true }, () => 0.5, before);
  for (const [i, name] of actual.entries()) it.things.put(name, i);
  return it;
}

test("a known object that is listed is reported once, as a change", async () => {
  await using it = reflection(["a", "b"], ["a", "b"]);
  await it.start();
  assert.deepEqual(it.news(), ["listing", "+shop/a", "+shop/b", "listed", "watching"]);
});

test("a few that were known before, and are not listed, are removed with the first list", async () => {
  await using it = reflection(["a", "b", "c"], ["a", "b"]);
  it.things.ends.set("shop/c", 100);
  await it.start();
  assert.deepEqual(it.news(), [
    ...["listing", "+shop/a", "+shop/b"],
    ...["-shop/c", "listed", "watching"],
  ]);
});

for (const initialEvents of ["sent", "refused"] as const) {
  test(`a first list without any known object must be confirmed by a second one (initial events ${initialEvents})`, async () => {
    await using it = reflection(["a", "b"], []);
    for (const name of ["a", "b"]) it.things.ends.set(`shop/${name}`, 100);
    it.server.initialEvents = initialEvents;
    await it.start();
    await it.pass(9_999);
    assert.deepEqual(it.news(), ["listing", "doubtful"]);
    await it.pass(1);
    assert.deepEqual(it.news().slice(0, 3), ["listing", "-shop/a", "-shop/b"]);
    assert.equal(it.state, undefined);
    await it.pass(1);
  });
}

test("a known object that reappears within ten seconds is never reported as removed", async () => {
  await using it = reflection(["a", "b"], []);
  await it.start();
  it.things.put("a", 1);
  it.things.put("b", 2);
  await it.pass(20_000);
  assert.deepEqual(
    it.news().filter((line) => line.startsWith("-")),
    [],
  );
  assert.deepEqual(it.believed, it.actual);
});

test("an unreachable API server, or one that does not serve the resource, removes no known object", async () => {
  for (const status of [503, 404]) {
    await using it = reflection(["a", "b"], []);
    it.server.served = status === 404 ? [] : it.server.served;
    if (status === 503) it.server.faults.push(...Array(99).fill({ kind: "status", status }));
    await it.start();
    await it.pass(60_000);
    assert.deepEqual([...it.believed.keys()], ["shop/a", "shop/b"]);
  }
});

test("whatever objects were known, it ends in the server's state", async () => {
  const names = fc.uniqueArray(fc.nat(40).map((i) => `o${i}`));
  await forMany(50, [names, names], async (known, actual) => {
    await using it = reflection(known, actual);
    for (const name of known) it.things.ends.set(`shop/${name}`, 100);
    await it.start();
    await it.pass(30_000);
    assert.deepEqual([...it.believed.keys()].sort(), [...it.actual.keys()].sort());
    assert.equal(it.told.filter((line) => line === "listed").length, 1);
  });
});
