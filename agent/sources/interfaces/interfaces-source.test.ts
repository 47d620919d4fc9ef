import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { Told } from "../../../test/support/told.ts";
import { AGAIN_MS, InterfacesSource, LOOK_MS } from "./interfaces-source.ts";

const silentLog = { warn: () => undefined, info: () => undefined };

test("tells the addresses, lists, and tells again only when they are others", async () => {
  const clock = new FakeClock();
  const told = new Told();
  let addresses = ["192.0.2.1", "127.0.0.1"];
  const source = new InterfacesSource({ read: () => addresses, clock, log: silentLog });
  source.start(told);
  assert.deepEqual(told.news(), []);
  clock.advance(0);
  assert.deepEqual(told.news(), ["addresses", "listed"]);
  assert.deepEqual(told.addresses, ["127.0.0.1", "192.0.2.1"]);
  addresses = ["127.0.0.1", "192.0.2.1"];
  clock.advance(LOOK_MS);
  assert.deepEqual(told.news(), [], "another order is no change");
  addresses = ["127.0.0.1", "192.0.2.7"];
  clock.advance(LOOK_MS);
  assert.deepEqual(told.news(), ["addresses"]);
  assert.equal(told.at, 2 * LOOK_MS);
  await source.stop();
  assert.equal(clock.pending, 0);
});

test("keeps what it has told while it cannot look, says so once, and lists only when it has looked", () => {
  const clock = new FakeClock();
  const told = new Told();
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
  new InterfacesSource({ read, clock, log }).start(told);
  clock.advance(3 * AGAIN_MS);
  assert.deepEqual(told.news(), []);
  assert.equal(words.length, 1);
  fault = undefined;
  clock.advance(AGAIN_MS);
  assert.deepEqual(told.news(), ["addresses", "listed"]);
  assert.equal(words.length, 2);
  fault = new Error("EMFILE");
  clock.advance(2 * LOOK_MS);
  assert.deepEqual(told.news(), []);
  assert.equal(words.length, 3);
});
