import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestFault } from "../../test/doubles/memory/faults.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";

/** A reflector that watches some objects, and has for long. */
async function watching(): Promise<ReflectorStage> {
  const it = new ReflectorStage();
  for (let i = 0; i < 5; i++) it.things.put(`o${i}`, i);
  await it.start();
  await it.pass(20_000);
  return it;
}

test("after an outage, an expired history is relisted immediately", async () => {
  await using it = await watching();
  it.server.disturb("reset");
  for (let i = 0; i < 6; i++) it.server.faults.push({ kind: "refused" });
  await it.pass(10_000);
  assert.equal(it.state, "unreachable");
  it.things.delete("o2");
  it.server.objects.compact();
  while (!it.told.includes("expired")) await it.pass(10);
  await it.settle();
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
});

test("a history that expires repeatedly is relisted less and less often", async () => {
  await using it = await watching();
  it.server.asked.splice(0);
  for (let second = 0; second < 60; second++) {
    it.server.disturb("expired");
    await it.pass(1000);
  }
  const lists = it.server.asked.filter((path) => path.includes("sendInitial")).length;
  assert.ok(lists >= 4 && lists <= 8, `${lists}`);
});

test("no failed, rejected or invalid response removes anything, and each has its reason", async () => {
  const cases = [
    [{ kind: "refused" }, "unreachable"],
    [{ kind: "status", status: 401 }, "unauthorized"],
    [{ kind: "status", status: 404 }, "not-served"],
    [{ kind: "status", status: 429 }, "throttled"],
    [{ kind: "status", status: 503 }, "server-error"],
    [{ kind: "body", text: "<html>log in</html>\n" }, "garbage"],
    [{ kind: "half", bytes: 30, clean: false }, "unreachable"],
    [{ kind: "half", bytes: 30, clean: true }, "unreachable"],
  ] as const;
  for (const [fault, reason] of cases) {
    await using it = await ReflectorStage.of(4);
    it.news();
    it.server.disturb("expired");
    it.server.faults.push(fault, fault, fault);
    await it.pass(1300);
    assert.equal(it.state, reason);
    assert.equal(it.believed.size, 4, reason);
    await it.pass(60_000);
    assert.equal(it.state, "watching", reason);
    const removed = it.news().filter((line) => line.startsWith("-"));
    assert.deepEqual(removed, []);
  }
});

test("a rejected watch-list is retried as pages: only then it is forbidden", async () => {
  await using it = await ReflectorStage.of(1, ({ server }) => {
    for (let i = 0; i < 2; i++) server.faults.push({ kind: "status", status: 403 });
  });
  assert.equal(it.state, "forbidden");
  assert.equal(it.told.includes("listed"), false);
});

/** What is waited after each of these faults, once the watch has ended. */
async function waits(it: ReflectorStage, ...faults: readonly RequestFault[]): Promise<number[]> {
  it.server.disturb("close");
  it.server.faults.push(...faults);
  await it.settle();
  const all: number[] = [];
  while (it.server.faults.length > 0) {
    all.push(it.clock.next ?? 0);
    await it.pass(it.clock.next ?? 0);
  }
  return [...all, it.clock.next ?? 0];
}

const REFUSED: RequestFault = { kind: "refused" };
const FORBIDDEN: RequestFault = { kind: "status", status: 403 };

const away: readonly RequestFault[] = Array(6).fill(REFUSED);
for (const { name, faults, expected } of [
  {
    name: "failures in a row back off from 0.8 to 30 seconds",
    faults: Array<RequestFault>(8).fill(FORBIDDEN),
    expected: [1200, 2400, 4800, 9600, 19_200, 22_500, 22_500, 22_500],
  },
  {
    name: "a single client of a server that does not respond retries at least every ten seconds",
    faults: away,
    expected: [1200, 2400, 4800, 7500, 7500, 7500],
  },
  {
    name: "a rejection by a starting server resets the backoff, once",
    faults: [...away, FORBIDDEN, FORBIDDEN, REFUSED, FORBIDDEN, FORBIDDEN],
    expected: [1200, 2400, 4800, 7500, 7500, 7500, 1200, 2400, 4800, 9600, 19_200],
  },
]) {
  test(`${name}; a watch that lasts ends that`, async () => {
    await using it = await ReflectorStage.of(1);
    await it.pass(20_000);
    assert.deepEqual(await waits(it, ...faults), expected);
    await it.pass(60_000);
    assert.equal(it.state, "watching");
    assert.deepEqual(await waits(it, REFUSED), [1200]);
  });
}

test("Retry-After is respected", async () => {
  await using it = await ReflectorStage.of(1, ({ server }) => {
    server.faults.push({ kind: "status", status: 429, retryAfter: "20" });
  });
  assert.equal(it.state, "throttled");
  assert.equal(it.clock.next, 22_500);
  await it.pass(22_500);
  assert.equal(it.state, "watching");
});

test("a server that closes every watch immediately does not cause a tight loop", async () => {
  await using it = await ReflectorStage.of(1);
  for (let i = 0; i < 20; i++) it.server.faults.push({ kind: "body", text: "" });
  it.server.disturb("close");
  await it.pass(60_000);
  assert.ok(it.server.asked.length < 15, String(it.server.asked.length));
});

test("a watch without data is reopened, without a report if the server is healthy", async () => {
  await using it = await ReflectorStage.of(3);
  it.news();
  it.server.disturb("freeze");
  it.things.delete("o0");
  await it.pass(149_000);
  assert.equal(it.believed.size, 3);
  await it.pass(3000);
  assert.deepEqual(it.news(), ["-shop/o0"]);
});

test("a suspended server is reported, and its return is detected", async () => {
  await using it = await ReflectorStage.of(3);
  it.server.disturb("freeze");
  for (let i = 0; i < 3; i++) it.server.faults.push({ kind: "silent" });
  await it.pass(185_000);
  assert.equal(it.state, "stalled");
  await it.pass(120_000);
  assert.equal(it.state, "watching");
});

test("an optional resource that is missing twice is listed as empty, and requested every 30 seconds", async () => {
  await using it = new ReflectorStage({ optional: true });
  it.server.served = [];
  await it.start();
  assert.deepEqual(it.news(), ["not-served"]);
  await it.pass(1000);
  assert.deepEqual(it.news(), ["listed"]);
  it.things.put("late", 1);
  it.server.served = ["v1"];
  await it.pass(29_000);
  assert.deepEqual(it.news(), []);
  await it.pass(1000);
  assert.deepEqual(it.news(), ["listing", "+shop/late", "watching"]);
});

test("a required resource is retried until it is served", async () => {
  await using it = new ReflectorStage();
  it.server.served = [];
  await it.start();
  await it.pass(300_000);
  assert.deepEqual(it.news(), ["not-served"]);
  it.server.served = ["v1"];
  await it.pass(30_000);
  assert.deepEqual(it.news(), ["listing", "listed", "watching"]);
});

test("a right that is missing for long is noticed within seconds once it is granted, by a client of which few exist", async () => {
  await using it = new ReflectorStage({ isRare: true });
  it.server.faults.push(
    ...Array.from({ length: 1000 }, () => ({ kind: "status", status: 403 }) as const),
  );
  await it.start();
  await it.pass(300_000);
  assert.equal(it.state, "forbidden");
  it.server.faults.length = 0;
  await it.pass(5000);
  assert.equal(it.state, "watching");
});
