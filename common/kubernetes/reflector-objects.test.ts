import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Fields } from "../../test/doubles/memory/fields.ts";
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
  const removed = it.news().filter((line) => line.startsWith("-"));
  assert.deepEqual(removed, []);
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

// Answers to writes and events of a watch have connections of their own: either may be the first to arrive.

/** Writes an object, and returns what that write is answered with. */
function write({ things }: ReflectorStage, name = "web"): Fields | undefined {
  things.put(name, 7);
  return things.get(name);
}

describe("the response to a write", () => {
  test("is reported immediately, and its watch event is ignored", async () => {
    await using it = await ReflectorStage.of(3);
    it.news();
    it.server.disturb("freeze");
    it.reflector.wrote(write(it));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(1_200_000);
    assert.ok(!it.news().includes("+shop/web"));
    assert.deepEqual(it.believed, it.actual);
  });

  test("does not restore an object that the watch has reported as deleted", async () => {
    await using it = await ReflectorStage.of(3);
    const answer = write(it);
    it.things.delete("web");
    await it.settle();
    assert.deepEqual(it.news().slice(-2), ["+shop/web", "-shop/web"]);
    it.reflector.wrote(answer);
    assert.deepEqual(it.news(), []);
    // Nor if the watch was opened again before it arrives.
    for (let i = 0; i < 2; i++) {
      it.server.disturb("close");
      await it.settle();
    }
    it.reflector.wrote(answer);
    await it.pass(1_200_000);
    assert.ok(!it.news().includes("+shop/web"));
    assert.deepEqual(it.believed, it.actual);
  });

  test("does not restore an object that was deleted without a watch, and that the list in progress lacks", async () => {
    await using it = await ReflectorStage.of(3);
    it.server.initialEvents = "refused";
    it.server.disturb("expired");
    const answer = write(it);
    it.things.delete("web");
    it.things.put("o0", 1);
    it.onChanged = () => {
      it.onChanged = () => undefined;
      it.reflector.wrote(answer);
    };
    it.news();
    await it.pass(2000);
    const ofWeb = it.news().filter((line) => line.endsWith("web"));
    assert.deepEqual(ofWeb, ["+shop/web", "-shop/web"]);
    assert.deepEqual(it.believed, it.actual);
  });

  for (const [name, what] of [
    ["o0", "an object that is known"],
    ["web", "an object that is new"],
  ] as const) {
    test(`of ${what} that comes after the list's moment, and before its first byte, is neither an older server nor missing`, async () => {
      await using it = await ReflectorStage.of(3);
      const request = it.server.request.bind(it.server);
      let isWritten = false;
      it.server.request = async (asked) => {
        const answer = await request(asked);
        if (!isWritten && asked.path.includes("sendInitialEvents")) {
          isWritten = true;
          it.reflector.wrote(write(it, name));
        }
        return answer;
      };
      it.news();
      it.server.objects.compact();
      it.things.put("o2", 5);
      it.server.disturb("expired");
      await it.pass(2000);
      assert.ok(isWritten);
      const others = it.news().filter((line) => line !== "expired");
      assert.deepEqual(others, ["+shop/o2", `+shop/${name}`, "listing", "watching"]);
      assert.deepEqual(it.believed, it.actual);
    });
  }

  test("of a restored server is reported, although its versions are lower than known ones", async () => {
    await using it = await ReflectorStage.of(20);
    it.things.restore(["o0"], it.things.version - 10);
    it.server.disturb("reset");
    await it.pass(2000);
    assert.equal(it.state, "doubtful");
    it.news();
    it.reflector.wrote(write(it));
    assert.deepEqual(it.news(), ["+shop/web"]);
    await it.pass(30_000);
    assert.deepEqual(it.believed, it.actual);
  });
});

/** A reflection of at most six objects, with `a` and `b` at rest. The owner of `flood-1` is `flood`. */
async function small(): Promise<ReflectorStage> {
  const it = crowded();
  for (const name of ["a", "b"]) it.things.put(name, 1);
  await it.start();
  it.news();
  return it;
}

function crowded(): ReflectorStage {
  return new ReflectorStage({ most: 6, ownerOf: (key) => key.split(/[/-]/)[1] ?? "" });
}

function flood(it: ReflectorStage, prefix: string, count: number): void {
  for (let i = 0; i < count; i++) it.things.put(`${prefix}${i}`, i);
}

function ebb(it: ReflectorStage, prefix: string, count: number): void {
  for (let i = 0; i < count; i++) it.things.delete(`${prefix}${i}`);
}

test("a flood of one owner during a watch holds up no object of another, and nothing that is known is removed", async () => {
  await using it = await small();
  flood(it, "flood-", 40);
  it.things.put("c", 3);
  await it.pass(600_000);
  const flooded = ["shop/flood-0", "shop/flood-1", "shop/flood-2"];
  assert.deepEqual([...it.believed.keys()].sort(), ["shop/a", "shop/b", "shop/c", ...flooded]);
  assert.equal(it.news().filter((line) => !line.startsWith("+")).length, 0);
  assert.equal(it.reflector.faults.get("too-many-objects"), 1);
  assert.deepEqual(it.errors, ["Objects of a namespace left out"]);
  it.things.put("a", 4);
  await it.pass(1);
  assert.equal(it.believed.get("shop/a"), 4);
  ebb(it, "flood-", 20);
  await it.pass(60_000);
  assert.equal(it.believed.size, 6, "others take the places that are free");
  for (let i = 20; i < 40; i++) it.things.delete(`flood-${i}`);
  await it.pass(600_000);
  assert.deepEqual(it.believed, it.actual);
});

for (const initialEvents of ["sent", "refused"] as const) {
  test(`a first list with too many objects is complete without those of the owner with the most, wherever they are in it (initial events ${initialEvents})`, async () => {
    for (const name of ["aa", "zz"]) {
      await using it = crowded();
      it.server.initialEvents = initialEvents;
      flood(it, `${name}-`, 12);
      flood(it, "mm-", 3);
      it.things.put("web", 1);
      await it.start();
      assert.deepEqual(it.told.slice(-2), ["listed", "watching"]);
      const owners = [...it.believed.keys()].map((key) => key.slice("shop/".length, -2)).sort();
      assert.deepEqual(owners, [name, name, "mm", "mm", "mm", "w"].sort());
    }
  });
}

test("objects of two owners may be replaced by as many as are allowed", async () => {
  await using it = await small();
  flood(it, "flood-", 9);
  await it.pass(60_000);
  ebb(it, "flood-", 9);
  for (const name of ["a", "b"]) it.things.delete(name);
  flood(it, "new-", 3);
  flood(it, "more-", 3);
  await it.pass(120_000);
  assert.deepEqual(it.believed, it.actual);
});

test("in any history of floods, known objects are bounded, a complete list's stay, and the end recovers", async () => {
  const step = fc.record({
    prefix: fc.constantFrom("p-", "q-", "r-", "s-"),
    count: fc.integer({ min: 0, max: 14 }),
    clears: fc.boolean(),
    fault: fc.option(fc.constantFrom("expired" as const, "garbage" as const, "reset" as const)),
  });
  await forMany(40, [fc.array(step, { maxLength: 8 })], async (steps) => {
    await using it = await small();
    for (const { prefix, count, clears, fault } of steps) {
      flood(it, prefix, count);
      if (fault !== null) it.server.disturb(fault);
      await it.pass(40_000);
      assert.ok(it.believed.size <= 12, `${it.believed.size} objects`);
      assert.ok(it.believed.has("shop/a") && it.believed.has("shop/b"));
      if (clears) ebb(it, prefix, count);
    }
    for (const prefix of ["p-", "q-", "r-", "s-"]) ebb(it, prefix, 14);
    await it.pass(1_500_000);
    assert.deepEqual(it.believed, it.actual);
  });
});
