import assert from "node:assert/strict";
import { test } from "node:test";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";
import type { ResourceQuery } from "./resource.ts";

/** Names of the first objects of a stage. */
const namesOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `o${i}`);

test("it lists by a watch, then reports every change", async () => {
  await using it = await ReflectorStage.of(2);
  assert.deepEqual(it.news(), ["listing", "+shop/o0", "+shop/o1", "listed", "watching"]);
  it.things.put("o1", 7);
  it.things.put("new", 8);
  it.things.delete("o0");
  await it.settle();
  assert.deepEqual(it.news(), ["+shop/o1", "+shop/new", "-shop/o0"]);
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.server.asked.length, 1);
});

for (const initialEvents of ["refused", "failed", "ignored"] as const) {
  test(`it lists in pages where initial events are ${initialEvents}`, async () => {
    await using it = await ReflectorStage.of(7, ({ server }) => {
      server.initialEvents = initialEvents;
    });
    await it.pass(10_000);
    assert.deepEqual(it.believed, it.actual);
    assert.equal(it.state, "watching");
    assert.equal(it.told.filter((line) => line === "listed").length, 1);
    assert.equal(it.server.asked.filter((path) => path.includes("limit=500")).length, 3);
    // The next list does not ask for them.
    it.server.asked.splice(0);
    it.server.disturb("expired");
    it.server.objects.compact();
    await it.pass(2000);
    assert.equal(it.state, "watching");
    assert.equal(it.server.asked.filter((path) => path.includes("sendInitial")).length, 0);
  });
}

test("a closed or broken watch resumes where it ended, and reports nothing twice", async () => {
  await using it = await ReflectorStage.of(3);
  for (const fault of ["close", "reset", "half-line", "repeat"] as const) {
    await it.pass(20_000);
    it.news();
    it.server.disturb(fault);
    it.things.put("o1", it.things.version);
    await it.pass(2000);
    const objects = it.news().filter((line) => line.startsWith("+"));
    assert.deepEqual(objects, ["+shop/o1"], fault);
    assert.equal(it.state ?? "watching", "watching");
  }
});

test("a list that was incomplete once removes nothing", async () => {
  await using it = await ReflectorStage.of(5);
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
});

/** A server of 35 objects that loses the last five by a restore, and has caught up when its watch is opened again. */
async function restored(query: Partial<ResourceQuery>): Promise<ReflectorStage> {
  const it = new ReflectorStage(query);
  for (let i = 0; i < 30; i++) it.things.put(`o${i}`, i);
  await it.start();
  const backup = it.things.version;
  for (let i = 30; i < 35; i++) it.things.put(`o${i}`, i);
  await it.pass(20_000);
  it.server.disturb("reset");
  it.things.restore(namesOf(30), backup);
  for (let i = 0; i < 10; i++) it.things.put(`o${i}`, 1000 + i);
  return it;
}

test("no object of a server that was restored and has caught up is missed with listsAfterLoss", async () => {
  await using it = await restored({ listsAfterLoss: true });
  it.server.faults.push({ kind: "refused" });
  await it.pass(30_000);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.believed.get("shop/o0"), 1000);
});

test("no object of a server that was restored and has caught up is missed once another client finds the restore", async () => {
  await using it = await restored({});
  await it.pass(5000);
  assert.equal(it.state, "watching");
  assert.equal(it.believed.size, 35, "its own watch shows nothing");
  it.server.recovery.restored({});
  await it.pass(30_000);
  assert.equal(it.told.filter((line) => line === "rewound").length, 1);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
});

test("a restore that a response shows while the connection is lost is reported before the next list", async () => {
  await using it = await ReflectorStage.of(30);
  let told = 0;
  it.server.recovery.onRestored({}, () => told++);
  for (let i = 0; i < 3; i++) it.server.faults.push({ kind: "refused" });
  it.server.disturb("reset");
  await it.settle();
  it.things.restore(["o1"], 20);
  it.news();
  it.reflector.rewound();
  assert.deepEqual(it.news(), ["rewound"]);
  assert.equal(told, 1);
  await it.pass(60_000);
  assert.deepEqual(it.believed, it.actual);
  assert.equal(told, 1);
});

test("a reflector that finds a restore, although its watch reports no error, tells the other clients of the server once, and never answers another", async () => {
  await using it = await ReflectorStage.of(30);
  let told = 0;
  it.server.recovery.onRestored({}, () => told++);
  it.server.recovery.restored({});
  await it.pass(30_000);
  assert.equal(told, 1, "by this test only");
  it.server.disturb("reset");
  it.things.restore(["o1"], 20);
  await it.pass(60_000);
  assert.equal(told, 2);
  assert.ok(it.told.includes("rewound"));
  assert.deepEqual(it.believed, it.actual);
});

test("ERROR, garbage and a row of failures in the middle of a watch lead to a new list", async () => {
  for (const fault of ["expired", "garbage"] as const) {
    await using it = await ReflectorStage.of(3);
    it.things.delete("o1");
    it.server.disturb(fault);
    await it.settle();
    assert.ok(it.told.includes(fault));
    assert.equal(it.reflector.faults.get(fault), 1);
    await it.pass(2000);
    assert.ok(it.server.asked.at(-1)?.includes("sendInitialEvents"));
    assert.deepEqual(it.believed, it.actual);
  }
});

test("the first served version is used, and another one once it is not served any more", async () => {
  await using it = new ReflectorStage({ versions: ["v1beta1", "v1alpha1"] });
  for (let i = 0; i < 3; i++) it.things.put(`o${i}`, i);
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
  const changes = it.news().filter((line) => /^[+-]/.test(line));
  assert.deepEqual(changes, []);
  assert.equal(it.state ?? "watching", "watching");
});

test("a handler that fails gets the object again when the watch ends, with one line logged; other objects are reported in any case", async () => {
  await using it = await ReflectorStage.of(3, (of) => {
    of.throwing = 1;
  });
  assert.deepEqual([...it.believed.keys()], ["shop/o1", "shop/o2"]);
  assert.equal(it.errors.length, 1);
  assert.equal(it.state, "watching");
  await it.pass(600_000);
  assert.deepEqual(it.believed, it.actual);
});

test("objects that a handler asks for again are reported within a minute, and no others, with one list", async () => {
  await using it = await ReflectorStage.of(4);
  it.news();
  const asked = it.server.asked.length;
  it.reflector.again(["shop/o1"]);
  it.reflector.again(["shop/o3", "shop/gone"]);
  assert.deepEqual(it.news(), []);
  await it.pass(60_000);
  const again = it.news().filter((line) => line.startsWith("+"));
  assert.deepEqual(again, ["+shop/o1", "+shop/o3"]);
  assert.equal(it.state ?? "watching", "watching");
  const lists = () =>
    it.server.asked.slice(asked).filter((path) => path.includes("sendInitialEvents")).length;
  assert.equal(lists(), 1);
  await it.pass(200_000);
  assert.equal(lists(), 1);
});

test("an unconfirmed list is repeated, although a watch could resume from before it", async () => {
  await using it = await ReflectorStage.of(3, (of) => void of.throwing++);
  it.things.restore(["o0"], 50);
  it.server.disturb("close");
  await it.settle();
  assert.equal(it.state, "doubtful");
  await it.pass(10_000);
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
});

test("a watch resumes after the last event, and reports its state only once it has recovered", async () => {
  await using it = await ReflectorStage.of(
    3,
    ({ server }) => void server.faults.push({ kind: "refused" }),
  );
  await it.pass(20_000);
  it.things.put("o1", 7);
  await it.pass(20_000);
  it.server.disturb("close");
  await it.settle();
  assert.match(it.server.asked[2] ?? "", /resourceVersion=104$/);
});

test("a bookmark among initial events does not end them: it lists by pages", async () => {
  await using it = await ReflectorStage.of(3, ({ server }) => {
    const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "103" } } };
    server.faults.push({ kind: "body", text: `${JSON.stringify(bookmark)}\n` });
  });
  assert.deepEqual(it.believed, it.actual);
  assert.match(it.server.asked[1] ?? "", /limit=500/);
  assert.equal(it.state, "watching");
});

test("a list of another kind is garbage", async () => {
  const list = { apiVersion: "other.io/v1", metadata: { resourceVersion: "900" }, items: [] };
  await using it = await ReflectorStage.of(3, ({ server }) => {
    server.faults.push({ kind: "status", status: 400 });
    server.faults.push({ kind: "body", text: JSON.stringify(list) });
  });
  assert.equal(it.state, "garbage");
  assert.equal(it.told.includes("listed"), false);
});

test("a handler may stop it, and gets no events that have already arrived", async () => {
  await using it = new ReflectorStage();
  for (let i = 0; i < 3; i++) it.things.put(`o${i}`, i);
  it.server.chunk = 10_000;
  it.onChanged = () => void it.stop();
  await it.start();
  await it.stop();
  assert.deepEqual(it.news(), ["listing", "+shop/o0"]);
});

test("stop ends it at any point, and no event follows", async () => {
  for (const when of ["connecting", "listing", "watching", "waiting"] as const) {
    await using it = new ReflectorStage();
    it.things.put("o0", 0);
    it.server.chunk = 1;
    if (when === "connecting") it.server.faults.push({ kind: "silent" });
    if (when === "waiting") it.server.faults.push({ kind: "refused" });
    it.reflector.start();
    if (when !== "listing") await it.settle();
    else await Promise.resolve();
    const stopped = it.stop();
    it.things.put("o1", 1);
    await stopped;
    await it.pass(400_000);
    assert.equal(it.server.watches, 0, when);
  }
});

test("the version of a server is requested by a list of one object of any label, since searching for a label could take long", async () => {
  await using it = new ReflectorStage({
    labelSelector: "colour",
    fieldSelector: "metadata.name=o1",
  });
  it.things.put("o1", 1);
  await it.start();
  await it.pass(20_000);
  it.server.disturb("reset");
  await it.pass(2_000);
  const [first, look, again] = it.server.asked.map((path) => new URL(path, "http://server"));
  assert.equal(first?.searchParams.get("labelSelector"), "colour");
  assert.deepEqual(
    [...(look?.searchParams ?? [])],
    [
      ["fieldSelector", "metadata.name=o1"],
      ["limit", "1"],
    ],
  );
  assert.equal(again?.searchParams.get("labelSelector"), "colour");
});
