import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { interfacesSource, POLL_MS, RETRY_MS } from "./interfaces-source.ts";

async function pass(clock: FakeClock, ms: number): Promise<void> {
  await turn();
  clock.advance(ms);
  await turn();
}

const silentLog = { warn: () => undefined, info: () => undefined };

test("reports the addresses, then listed, and reports again only after a change", async () => {
  const clock = new FakeClock();
  const told = new SourceRecorder();
  let addresses = ["192.0.2.1", "127.0.0.1"];
  const source = interfacesSource({
    read: () => addresses,
    clock,
    log: silentLog,
    explicitVips: false,
  });
  source.start(told);
  assert.deepEqual(told.news(), []);
  await turn();
  assert.deepEqual(told.news(), ["addresses", "listed"]);
  assert.deepEqual(told.addresses, ["127.0.0.1", "192.0.2.1"]);
  addresses = ["127.0.0.1", "192.0.2.1"];
  await pass(clock, POLL_MS);
  assert.deepEqual(told.news(), [], "another order is no change");
  addresses = ["127.0.0.1", "192.0.2.7"];
  await pass(clock, POLL_MS);
  assert.deepEqual(told.news(), ["addresses"]);
  assert.equal(told.at, 2 * POLL_MS);
  await source.stop();
  assert.equal(clock.pending, 0);
});

test("keeps the reported addresses while reading fails, logs that once, and is listed only after a read", async () => {
  const clock = new FakeClock();
  const told = new SourceRecorder();
  const words: string[] = [];
  const log = {
    warn: (text: string) => words.push(text),
    info: (text: string) => words.push(text),
  };
  let fault: Error | undefined = new Error("EMFILE");
  const read = () => {
    if (fault !== undefined) throw fault;
    return ["192.0.2.1"];
  };
  interfacesSource({ read, clock, log, explicitVips: false }).start(told);
  for (let i = 0; i < 3; i++) await pass(clock, RETRY_MS);
  assert.deepEqual(told.news(), []);
  assert.equal(words.length, 1);
  fault = undefined;
  await pass(clock, RETRY_MS);
  assert.deepEqual(told.news(), ["addresses", "listed"]);
  assert.equal(words.length, 2);
  fault = new Error("EMFILE");
  await pass(clock, POLL_MS);
  await pass(clock, RETRY_MS);
  assert.deepEqual(told.news(), []);
  assert.equal(words.length, 3);
});
