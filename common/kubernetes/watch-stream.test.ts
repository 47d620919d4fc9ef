import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { Connection } from "./connection.ts";
import { Recovery } from "./recovery.ts";
import { NoInitialEvents, watchStream } from "./watch-stream.ts";

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
