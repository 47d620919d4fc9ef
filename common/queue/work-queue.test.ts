import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";
import { WorkQueue } from "./work-queue.ts";

const FAULT = new Error("no");

/** Lets everything happen that can happen without time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await setImmediate();
}

/** A queue whose work is ended by the test: `begun` in order, each with what ends it. */
function stage(workers = 1) {
  const clock = new FakeClock();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const told: string[] = [];
  const queue = new WorkQueue<string>({
    reconcile(key) {
      if (key === "throws") throw FAULT;
      begun.push(key);
      const end = Promise.withResolvers<void>();
      ends.set(key, end);
      return end.promise;
    },
    causeOf: (key) => (key.endsWith("!") ? "a right" : key.slice(0, 1)),
    groupOf: (key) => key.slice(0, 1),
    ownerOf: (key) => key.slice(0, 1).toLowerCase(),
    workers,
    clock,
    random: () => 0,
    events: {
      done: (key, waited, took) => void told.push(`${key} done: ${waited} + ${took}`),
      failed: (key, _, failures, wait) => void told.push(`${key} failed: ${failures}, ${wait}`),
    },
  });
  const end = async (key: string, fault?: Error): Promise<void> => {
    const work = ends.get(key);
    assert.ok(work, `${key} is not worked on`);
    ends.delete(key);
    if (fault === undefined) work.resolve();
    else work.reject(fault);
    await settle();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const add = async (key: string): Promise<void> => {
    queue.add(key);
    await settle();
  };
  return { clock, queue, begun, ends, told, end, pass, add };
}

test("a key that is added often is reconciled once; keys are reconciled in the order in which they were added", async () => {
  const it = stage();
  for (const key of ["a", "b", "a", "c", "b"]) it.queue.add(key);
  assert.deepEqual(it.begun, []);
  assert.equal(it.queue.depth, 3);
  await settle();
  for (const key of ["a", "b", "c"]) await it.end(key);
  assert.deepEqual(it.begun, ["a", "b", "c"]);
  assert.equal(it.queue.depth, 0);
});

test("a failing key is retried with doubling waits, which a success resets", async () => {
  const it = stage();
  await it.add("a");
  for (let i = 0; i < 12; i++) {
    await it.end("a", FAULT);
    await it.pass(it.clock.next ?? 0);
  }
  const waits = it.told.map((line) => line.replace("a failed: ", ""));
  assert.deepEqual(waits.slice(0, 3), ["1, 200", "2, 400", "3, 800"]);
  assert.deepEqual(waits.slice(-2), ["11, 30000", "12, 30000"]);
  assert.equal(it.queue.failing, 1);
  await it.end("a");
  assert.equal(it.queue.failing, 0);
  await it.add("a");
  await it.end("a", FAULT);
  assert.equal(it.told.at(-1), "a failed: 1, 200");
});

test("a reconcile that throws synchronously is a failure like any other", async () => {
  const it = stage();
  await it.add("throws");
  assert.deepEqual(it.told, ["throws failed: 1, 200"]);
});

test("a failed key that is added is retried immediately, and only once", async () => {
  const it = stage();
  await it.add("a");
  await it.end("a", FAULT);
  await it.add("a");
  assert.deepEqual(it.begun, ["a", "a"]);
  await it.end("a");
  assert.equal(it.clock.pending, 0);
  await it.pass(100_000);
  assert.deepEqual(it.begun, ["a", "a"]);
});

test("a Retry-After is respected, even if the key is added before or meanwhile", async () => {
  const it = stage();
  await it.add("a");
  it.queue.add("a");
  await it.end("a", new ApiFault("throttled", "later", { retryAfter: 5000 }));
  it.queue.add("a");
  await it.pass(4999);
  assert.deepEqual(it.begun, ["a"]);
  await it.pass(1);
  assert.deepEqual(it.begun, ["a", "a"]);
  // That was the server's wish for once.
  await it.end("a", FAULT);
  await it.add("a");
  assert.deepEqual(it.begun, ["a", "a", "a"]);
});

const REJECTED = new ApiFault("refused", "exceeded quota");

test("a rejected key is retried within seconds, however often it was rejected, and whatever time a webhook's denial asks for", async () => {
  const it = stage();
  await it.add("a");
  for (let attempt = 1; attempt <= 20; attempt++) {
    await it.end("a", REJECTED);
    await it.pass(5000);
    assert.equal(it.begun.length, attempt + 1);
  }
  await it.end("a", new ApiFault("refused", "denied", { retryAfter: 300_000 }));
  await it.add("a");
  assert.equal(it.begun.length, 22, "a change is not held up");
});

test("many rejected keys are retried rarely, and when one that was rejected for the same cause succeeds, in turns", async () => {
  const it = stage(1000);
  const keys = Array.from({ length: 500 }, (_, i) => `${i < 400 ? "a" : "b"}${i}`);
  for (const key of keys) it.queue.add(key);
  await settle();
  for (let round = 0; round < 12; round++) {
    for (const key of [...it.ends.keys()]) await it.end(key, REJECTED);
    await it.pass(60_000);
  }
  for (const key of [...it.ends.keys()]) await it.end(key, REJECTED);
  it.begun.length = 0;
  await it.pass(5000);
  assert.equal(it.begun.length, 0);
  await it.add("a7");
  await it.end("a7");
  assert.equal(it.begun.length, 1 + 50);
  assert.ok(it.begun.every((key) => key.startsWith("a")));
  while (it.ends.size > 0) for (const key of [...it.ends.keys()]) await it.end(key);
  const ofA = keys.filter((key) => key.startsWith("a")).toSorted();
  assert.deepEqual(it.begun.toSorted(), ofA, "each once");
});

for (const [what, end] of [
  ["cause", ""],
  ["owner", "!"],
])
  test(`hundreds of rejected keys delay none of another ${what}`, async () => {
    const it = stage(1000);
    const keys = Array.from({ length: 600 }, (_, i) => `a${i}${end}`);
    for (let round = 0; round < 12; round++) {
      for (const key of [...keys, `b${end}`]) it.queue.add(key);
      await settle();
      for (const key of [...it.ends.keys()]) await it.end(key, REJECTED);
    }
    it.begun.length = 0;
    await it.pass(5000);
    assert.deepEqual(it.begun, [`b${end}`]);
    await it.end(`b${end}`, REJECTED);
    await it.add("a7!");
    await it.end("a7!");
    assert.equal(it.begun.includes("b!"), end === "!", "its cause has ended");
  });

test("rejected keys whose attempts hang, as in a webhook, are retried so rarely that most workers are free", async () => {
  const waitAfter = async (ms: number): Promise<number> => {
    const it = stage(16);
    for (let round = 0; round < 12; round++) {
      for (const key of ["a", "b", "c", "d"]) {
        await it.add(key);
        await it.pass(ms);
        await it.end(key, new ApiFault("refused", "webhook"));
      }
    }
    return Number(/, (\d+)$/.exec(it.told.at(-1) ?? "")?.[1]);
  };
  const [quick, slow] = [await waitAfter(1), await waitAfter(8_000)];
  assert.ok(quick <= 5_000, `${quick}`);
  // Four attempts of eight seconds occupy less than a quarter of 16 workers.
  assert.ok(slow > quick, `${slow}`);
});

/** Those in progress take eight seconds, and are rejected. */
async function round(it: ReturnType<typeof stage>): Promise<void> {
  const working = [...it.ends.keys()];
  await it.pass(8_000);
  for (const key of working) await it.end(key, REJECTED);
}

/** 300 keys whose attempts take eight seconds and are rejected, for a minute. `after`: what each round does then. */
async function hang(it: ReturnType<typeof stage>, after: () => Promise<void> = async () => {}) {
  for (let i = 0; i < 300; i++) it.queue.add(`a${i}`);
  await settle();
  for (let ms = 0; ms < 60_000; ms += 8_000) {
    await round(it);
    await after();
  }
}

test("keys whose attempts hang leave most workers to others from the first attempts on", async () => {
  const it = stage(16);
  let other = 0;
  await hang(it, async () => {
    // Each of another namespace begins at once, and three of four workers are free.
    assert.ok(it.queue.working <= 4, `${it.queue.working} hang`);
    await it.add(`b${++other}`);
    await it.end(`b${other}`);
  });
  assert.ok(it.queue.depth > 200);
  assert.ok(it.queue.oldest >= 56_000);
  // Once the webhook answers, all are done.
  const left = () => it.queue.depth + it.queue.failing + it.queue.working;
  for (let turn = 0; turn < 400 && left() > 0; turn++) {
    for (const key of [...it.ends.keys()]) await it.end(key);
    await it.pass(1000);
  }
  assert.deepEqual([it.queue.depth, it.queue.failing, it.queue.working], [0, 0, 0]);
});

/** 300 keys that hung, of which only retries are left. */
async function allHung() {
  const it = stage(16);
  await hang(it);
  while (new Set(it.begun).size < 300 || it.queue.working > 2) await round(it);
  assert.ok(it.queue.depth > 100, "most retries are due");
  return it;
}

test("a key that hung and has changed does not wait for the retries of those that hung", async () => {
  const it = await allHung();
  const retried = [...it.ends.keys()];
  const changed = Array.from({ length: 300 }, (_, i) => `a${i}`)
    .filter((key) => !retried.includes(key))
    .slice(100, 102);
  for (const key of changed) await it.add(key);
  assert.deepEqual([...it.ends.keys()], [...retried, ...changed]);
  // Those that change while they are in progress keep their workers until they end, and are next then.
  for (const key of it.ends.keys()) await it.add(key);
  assert.equal(it.queue.working, 4);
  it.begun.length = 0;
  await round(it);
  await round(it);
  const again = [...retried, ...changed];
  const missed = again.filter((key) => !it.begun.includes(key));
  assert.deepEqual(missed, []);
  // Their own retries wait like others.
  await round(it);
  it.begun.length = 0;
  for (let i = 0; i < 20; i++) await round(it);
  const early = again.filter((key) => it.begun.includes(key));
  assert.deepEqual(early, []);
});

test("keys that waited for a group that hung take turns with others once it does not", async () => {
  const it = await allHung();
  await it.pass(90_000);
  const oldest = it.queue.oldest;
  const [working = ""] = it.ends.keys();
  await it.end(working, FAULT);
  assert.equal(it.queue.working, 13);
  it.queue.add("b", "other");
  for (const key of [...it.ends.keys()].slice(0, 2)) await it.end(key);
  assert.ok(it.ends.has("b"));
  assert.ok(it.queue.depth > 100);
  assert.ok(it.queue.oldest > 90_000 && it.queue.oldest <= oldest, "they keep their age");
});

test("an owner leaves workers to others before any attempt has taken long, whatever the groups of its keys", async () => {
  const it = stage(16);
  for (let i = 0; i < 20; i++) for (const group of ["a", "A"]) it.queue.add(`${group}${i}`);
  await settle();
  await it.add("b");
  assert.deepEqual([it.queue.working, it.ends.has("b")], [14, true]);
});

test("namespaces whose attempts take seconds and succeed leave a quarter of the workers to others, and share the rest", async () => {
  const it = stage(16);
  const slow = async (names: readonly string[]): Promise<void> => {
    for (const key of names) it.queue.add(key);
    await settle();
  };
  const round = async (): Promise<void> => {
    const working = [...it.ends.keys()];
    await it.pass(5_000);
    for (const key of working) await it.end(key);
  };
  const names = (letter: string) => Array.from({ length: 100 }, (_, i) => `${letter}${i}`);
  const working = (letter: string) => [...it.ends.keys()].filter((key) => key[0] === letter).length;
  await slow(names("a"));
  assert.equal(working("a"), 13, "as if they were quick");
  await round();
  assert.equal(working("a"), 10);
  // Two more are slow; each gets as much.
  await slow([...names("b"), ...names("c")]);
  await round();
  await round();
  await round();
  for (const letter of ["a", "b", "c"]) assert.ok(working(letter) >= 3, letter);
  assert.equal(it.queue.working, 12);
  await slow(["d0", "d1", "d2", "d3"]);
  assert.equal(working("d"), 4);
  while (it.queue.working > 0) await round();
  assert.deepEqual([it.queue.depth, new Set(it.begun).size], [0, 304]);
});

test("a key fails since it was first added, until a reconcile succeeds", async () => {
  const it = stage();
  it.queue.add("a");
  await it.pass(100);
  await it.end("a", FAULT);
  await it.pass(60_000);
  assert.equal(it.queue.failingFor, 60_100);
  await it.end("a", FAULT);
  await it.pass(120_000);
  assert.equal(it.queue.failingFor, 180_100);
  await it.end("a");
  assert.equal(it.queue.failingFor, 0);
});

test("the age of the oldest key counts from when it was added until it is done", async () => {
  const it = stage();
  assert.equal(it.queue.oldest, 0);
  it.queue.add("a");
  await it.pass(100);
  it.queue.add("b");
  await it.pass(50);
  assert.equal(it.queue.oldest, 150);
  await it.end("a");
  assert.equal(it.queue.oldest, 50);
  await it.pass(7);
  await it.end("b");
  assert.equal(it.queue.oldest, 0);
  assert.deepEqual(it.told, ["a done: 100 + 50", "b done: 50 + 7"]);
});
