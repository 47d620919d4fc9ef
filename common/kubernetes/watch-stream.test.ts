import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { ApiFault } from "./api-fault.ts";
import { Connection } from "./connection.ts";
import { Recovery } from "./recovery.ts";
import { NoInitialEvents, parseWatchEvent, watchStream } from "./watch-stream.ts";

const parse = (event: unknown) => parseWatchEvent(Buffer.from(JSON.stringify(event)));
const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" };

test("an event has its object and its metadata", () => {
  const meta = { key: "shop/web", uid: "u", resourceVersion: "7" };
  for (const type of ["ADDED", "MODIFIED", "DELETED"]) {
    assert.deepEqual(parse({ type, object: { metadata } }), { type, meta, object: { metadata } });
  }
  const cluster = { metadata: { ...metadata, namespace: undefined } };
  const event = parse({ type: "ADDED", object: cluster });
  assert.equal(event.type === "ADDED" && event.meta.key, "web");
});

test("a bookmark has a version, and whether all objects have been sent", () => {
  const bookmark = (annotations?: unknown) =>
    parse({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9", annotations } } });
  const plain = { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: false };
  assert.deepEqual(bookmark(), plain);
  assert.deepEqual(bookmark({ "k8s.io/initial-events-end": "false" }), plain);
  const end = bookmark({ "k8s.io/initial-events-end": "true" });
  assert.deepEqual(end, { ...plain, initialEventsEnd: true });
});

test("an ERROR event has the reason of its code", () => {
  const error = (object: unknown) => () => parse({ type: "ERROR", object });
  const status = { kind: "Status", code: 410, message: "too old" };
  assert.throws(error(status), { reason: "expired", message: "too old" });
  assert.throws(error({ ...status, code: 429 }), { reason: "throttled" });
  assert.throws(error({ ...status, code: 500 }), { reason: "server-error" });
  assert.throws(error({ message: "?" }), { reason: "server-error" });
  assert.throws(error({ code: 200 }), { reason: "server-error" });
  assert.throws(error({ ...status, message: "x".repeat(9999) }), { message: "x".repeat(300) });
});

test("an invalid event is garbage", () => {
  const garbage = [
    null,
    [],
    "ADDED",
    {},
    { type: "ADDED" },
    { type: "SYNC", object: { metadata } },
    { type: "BOOKMARK", object: { metadata: {} } },
    { type: "ADDED", object: { metadata: { ...metadata, name: "" } } },
    { type: "ADDED", object: { metadata: { ...metadata, name: "a/b", namespace: "" } } },
    { type: "ADDED", object: { metadata: { ...metadata, resourceVersion: 7 } } },
  ];
  for (const event of garbage) {
    assert.throws(() => parse(event), { reason: "garbage" }, JSON.stringify(event));
  }
  assert.throws(() => parseWatchEvent(Buffer.from([0x22, 0xff, 0x22])), { reason: "garbage" });
});

test("whatever the bytes, it is an event or a fault", async () => {
  const valid = Buffer.from(JSON.stringify({ type: "MODIFIED", object: { metadata } }));
  const flipped = fc
    .array(fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 3 })
    .map((changes) => {
      const bytes = Buffer.from(valid);
      for (const [at, byte] of changes) bytes[at] = byte;
      return bytes;
    });
  const any = fc.oneof(
    fc.uint8Array(),
    flipped,
    fc.json().map((text) => Buffer.from(text)),
  );
  await forAll([any], (bytes) => {
    try {
      assert.ok(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"].includes(parseWatchEvent(bytes).type));
    } catch (thrown) {
      assert.ok(thrown instanceof ApiFault, String(thrown));
    }
  });
});

const END = { "k8s.io/initial-events-end": "true" };
const added = (name: string) => ({
  type: "ADDED",
  object: { metadata: { name, resourceVersion: "1" } },
});
const bookmark = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "2", annotations: END } },
};

/** Types of what a watch says, each line after so many milliseconds. */
async function heard(lines: readonly (readonly [number, object])[]): Promise<string[]> {
  const clock = new FakeClock();
  async function* said() {
    for (const [ms, line] of lines) {
      clock.advance(ms);
      yield Buffer.from(`${JSON.stringify(line)}\n`);
    }
  }
  const api = {
    address: "memory:",
    recovery: new Recovery(),
    request: async () => ({ status: 200, header: () => undefined, body: said() }),
    close: async () => undefined,
  };
  const { signal } = new AbortController();
  const connection = new Connection({ api, clock, signal });
  const types: string[] = [];
  const cancel = signal;
  const options = { path: "/", clock, initial: true, opened: () => undefined, cancel };
  for await (const { event } of watchStream(connection, options)) types.push(event.type);
  assert.equal(clock.pending, 0);
  return types;
}

test("initial events may arrive slowly, as long as they arrive", async () => {
  const lines = [added("a"), added("b"), added("c"), bookmark].map(
    (line) => [9_999, line] as const,
  );
  assert.deepEqual(await heard(lines), ["ADDED", "ADDED", "ADDED", "BOOKMARK"]);
});

test("objects without the final bookmark are not a list", async () => {
  const lines = [[0, added("a")] as const, [10_000, added("b")] as const];
  await assert.rejects(heard(lines), NoInitialEvents);
});

test("after the initial events, minutes without data are not a fault", async () => {
  const lines = [[0, bookmark] as const, [149_999, added("a")] as const];
  assert.deepEqual(await heard(lines), ["BOOKMARK", "ADDED"]);
});
