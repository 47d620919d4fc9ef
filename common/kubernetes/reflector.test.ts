import assert from "node:assert/strict";
import { test } from "node:test";
import { Reflection } from "../../test/support/reflection.ts";

test("it lists by a watch, then hears of every change", async () => {
  const it = await Reflection.of(2);
  assert.deepEqual(it.news(), ["listing", "+shop/o0", "+shop/o1", "listed", "watching"]);
  it.server.store.put("o1", 7);
  it.server.store.put("new", 8);
  it.server.store.delete("o0");
  await it.settle();
  assert.deepEqual(it.news(), ["+shop/o1", "+shop/new", "-shop/o0"]);
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.server.asked.length, 1);
  await it.end();
});

for (const initialEvents of ["refused", "ignored"] as const) {
  test(`it lists in pages where initial events are ${initialEvents}`, async () => {
    const it = await Reflection.of(7, ({ server }) => {
      server.initialEvents = initialEvents;
    });
    await it.pass(10_000);
    assert.deepEqual(it.believed, it.actual);
    assert.equal(it.state, "watching");
    assert.equal(it.told.filter((line) => line === "listed").length, 1);
    assert.equal(it.server.asked.filter((path) => path.includes("limit=500")).length, 3);
    // The next list does not try in vain.
    it.server.asked.splice(0);
    it.server.disturb("expired");
    it.server.store.compact();
    await it.pass(2000);
    assert.equal(it.state, "watching");
    assert.equal(it.server.asked.filter((path) => path.includes("sendInitial")).length, 0);
    await it.end();
  });
}

test("a closed or broken watch goes on where it ended, and tells nothing twice", async () => {
  const it = await Reflection.of(3);
  for (const fault of ["close", "reset", "half-line", "repeat"] as const) {
    await it.pass(20_000);
    it.news();
    it.server.disturb(fault);
    it.server.store.put("o1", it.server.store.version);
    await it.pass(2000);
    const objects = it.news().filter((line) => line.startsWith("+"));
    assert.deepEqual(objects, ["+shop/o1"], fault);
    assert.equal(it.state ?? "watching", "watching");
  }
  await it.end();
});

test("what was deleted while nobody watched, and is no longer in the history, goes with the next list", async () => {
  const it = await Reflection.of(5);
  it.server.disturb("expired");
  it.server.store.delete("o2");
  it.server.store.compact();
  assert.equal(it.believed.size, 5);
  await it.settle();
  assert.ok(it.told.includes("expired"));
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.believed.size, 4);
  await it.end();
});

test("a list that would take most away is believed at the second look, ten seconds later", async () => {
  const it = await Reflection.of(5);
  it.server.disturb("expired");
  it.server.store.restore(["o4"], 50);
  it.server.store.compact();
  await it.pass(4000);
  assert.equal(it.state, "doubtful");
  assert.equal(it.believed.size, 5);
  await it.pass(10_000);
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.state, "watching");
  await it.end();
});

test("a list that was wrong for a moment takes nothing away", async () => {
  const it = await Reflection.of(5);
  const empty = {
    kind: "ThingList",
    apiVersion: "example.io/v1",
    metadata: { resourceVersion: "900" },
  };
  it.server.initialEvents = "refused";
  it.server.disturb("expired");
  it.server.faults.push({ kind: "status", status: 422 });
  it.server.faults.push({ kind: "body", text: JSON.stringify({ ...empty, items: [] }) });
  await it.pass(2000);
  assert.equal(it.state, "doubtful");
  await it.pass(10_000);
  assert.equal(it.state, "watching");
  assert.equal(it.told.filter((line) => line.startsWith("-")).length, 0);
  assert.deepEqual(it.believed, it.actual);
  await it.end();
});

test("a server that was restored from a backup is noticed, though its watch says nothing wrong", async () => {
  const it = await Reflection.of(30);
  await it.pass(20_000);
  it.server.disturb("reset");
  it.server.faults.push({ kind: "refused" });
  it.server.store.restore(
    Array.from({ length: 29 }, (_, i) => `o${i}`),
    60,
  );
  await it.pass(5000);
  assert.ok(it.told.includes("rewound"));
  await it.pass(30_000);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.believed.size, 29);
  await it.end();
});

test("a server that was restored and has caught up since misses nothing, where all is listed after a loss", async () => {
  const it = new Reflection({ listsAfterLoss: true });
  for (let i = 0; i < 30; i++) it.server.store.put(`o${i}`, i);
  await it.start();
  const backup = it.server.store.version;
  for (let i = 30; i < 35; i++) it.server.store.put(`o${i}`, i);
  await it.pass(20_000);
  it.server.disturb("reset");
  it.server.faults.push({ kind: "refused" });
  it.server.store.restore(
    [...it.actual.keys()].slice(0, 30).map((key) => key.slice(5)),
    backup,
  );
  for (let i = 0; i < 10; i++) it.server.store.put(`o${i}`, 1000 + i);
  await it.pass(30_000);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.believed.get("shop/o0"), 1000);
  await it.end();
});

test("ERROR, garbage and a row of failures in the middle of a watch lead to a new list", async () => {
  for (const fault of ["expired", "garbage"] as const) {
    const it = await Reflection.of(3);
    it.server.store.delete("o1");
    it.server.disturb(fault);
    await it.settle();
    assert.ok(it.told.includes(fault));
    assert.equal(it.reflector.faults.get(fault), 1);
    await it.pass(2000);
    assert.ok(it.server.asked.at(-1)?.includes("sendInitialEvents"));
    assert.deepEqual(it.believed, it.actual);
    await it.end();
  }
});

test("the first version that is served is used, and another when that goes", async () => {
  const it = new Reflection({ versions: ["v1beta1", "v1alpha1"] });
  for (let i = 0; i < 3; i++) it.server.store.put(`o${i}`, i);
  it.server.served = ["v1alpha1"];
  await it.start();
  assert.deepEqual(it.believed, it.actual);
  assert.match(it.server.asked.at(-1) ?? "", /v1alpha1/);
  it.news();
  await it.pass(20_000);
  it.server.served = ["v1beta1"];
  it.server.disturb("close");
  await it.pass(5000);
  assert.match(it.server.asked.at(-1) ?? "", /v1beta1/);
  assert.deepEqual(
    it.news().filter((line) => /^[+-]/.test(line)),
    [],
  );
  assert.equal(it.state ?? "watching", "watching");
  await it.end();
});

test("who throws is told again when the watch ends, and the others are told in any case", async () => {
  const it = await Reflection.of(3, (of) => {
    of.throwing = 1;
  });
  assert.deepEqual([...it.believed.keys()], ["shop/o1", "shop/o2"]);
  assert.equal(it.errors.length, 1);
  assert.equal(it.state, "watching");
  await it.pass(600_000);
  assert.deepEqual(it.believed, it.actual);
  await it.end();
});

test("a list that is doubted is looked at again, though a watch could go on from before it", async () => {
  const it = await Reflection.of(3, (of) => void of.throwing++);
  it.server.store.restore(["o0"], 50);
  it.server.disturb("close");
  await it.settle();
  assert.equal(it.state, "doubtful");
  await it.pass(10_000);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
  await it.end();
});

test("a watch goes on from the last event, without a word before it once all is well again", async () => {
  const it = await Reflection.of(3, ({ server }) => void server.faults.push({ kind: "refused" }));
  await it.pass(20_000);
  it.server.store.put("o1", 7);
  await it.pass(20_000);
  it.server.disturb("close");
  await it.settle();
  assert.match(it.server.asked[2] ?? "", /resourceVersion=104$/);
  await it.end();
});

test("a bookmark in the midst of initial events is no end of them: pages are", async () => {
  const it = await Reflection.of(3, ({ server }) => {
    const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "103" } } };
    server.faults.push({ kind: "body", text: `${JSON.stringify(bookmark)}\n` });
  });
  assert.deepEqual(it.believed, it.actual);
  assert.match(it.server.asked[1] ?? "", /limit=500/);
  assert.equal(it.state, "watching");
  await it.end();
});

test("a list of another kind is garbage", async () => {
  const list = { apiVersion: "other.io/v1", metadata: { resourceVersion: "900" }, items: [] };
  const it = await Reflection.of(3, ({ server }) => {
    server.faults.push({ kind: "status", status: 400 });
    server.faults.push({ kind: "body", text: JSON.stringify(list) });
  });
  assert.equal(it.state, "garbage");
  assert.equal(it.told.includes("listed"), false);
  await it.end();
});

test("whoever is told may stop it, and hears nothing of what has already come", async () => {
  const it = new Reflection();
  for (let i = 0; i < 3; i++) it.server.store.put(`o${i}`, i);
  it.server.cut = 10_000;
  it.onChanged = () => void it.stop();
  await it.start();
  await it.stop();
  assert.deepEqual(it.news(), ["listing", "+shop/o0"]);
  await it.end();
});

test("stop ends it wherever it is, and nothing is told after", async () => {
  for (const when of ["connecting", "listing", "watching", "waiting"] as const) {
    const it = new Reflection();
    it.server.store.put("o0", 0);
    it.server.cut = 1;
    if (when === "connecting") it.server.faults.push({ kind: "silent" });
    if (when === "waiting") it.server.faults.push({ kind: "refused" });
    it.reflector.start();
    if (when !== "listing") await it.settle();
    else await Promise.resolve();
    const stopped = it.stop();
    it.server.store.put("o1", 1);
    await stopped;
    await it.pass(400_000);
    await it.end();
    assert.equal(it.server.watches, 0, when);
  }
});
