import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointFact } from "../model/facts.ts";
import { believedState } from "./believed-state.ts";

const READY = { address: "10.0.0.1", ready: true, serving: true, terminating: false };
const HELD = { ...READY, ready: false };
const GOING = { ...HELD, terminating: true };
const DEAD = { ...HELD, serving: false };

function believed(...slices: readonly (readonly EndpointFact[])[]): string {
  return believedState(slices.map((endpoints) => ({ endpoints })));
}

test("a cluster was stale whose endpoints serve, stay, and are not ready, none of them", () => {
  assert.equal(believed([HELD, DEAD], [GOING]), "stale");
  assert.equal(believed([HELD], [READY]), "alive");
  assert.equal(believed([READY], [HELD]), "alive");
});

test("a cluster whose slices tell nothing was alive", () => {
  assert.equal(believed(), "alive");
  assert.equal(believed([]), "alive");
  assert.equal(believed([DEAD, GOING]), "alive");
});
