import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLLER_NAME } from "../../api/keys.ts";
import { type ImportedSliceFact, parseImportedSlice } from "../model/parse-imported-slice.ts";
import { previousState } from "./previous-state.ts";

const READY = { ready: true, serving: true, terminating: false };
const HELD = { ...READY, ready: false };
const GOING = { ...HELD, terminating: true };
const DEAD = { ...HELD, serving: false };

/** An imported slice. */
function imported(conditions: readonly object[]): ImportedSliceFact {
  const labels = {
    "endpointslice.kubernetes.io/managed-by": CONTROLLER_NAME,
    "multicluster.kubernetes.io/service-name": "web",
    "multicluster.kubernetes.io/source-cluster": "c2",
  };
  const { fact } = parseImportedSlice({
    metadata: { namespace: "shop", name: "web-c2", labels },
    endpoints: conditions.map((each) => ({ addresses: ["10.0.0.1"], conditions: each })),
  });
  assert.ok(fact);
  return fact;
}

function believed(...slices: readonly (readonly object[])[]): string {
  return previousState(slices.map(imported));
}

test("a cluster was stale if its endpoints serve and none is ready", () => {
  assert.equal(believed([HELD, DEAD], [GOING]), "stale");
  assert.equal(believed([HELD], [READY]), "alive");
  assert.equal(believed([READY], [HELD]), "alive");
});

test("a cluster was alive if its slices do not show its state", () => {
  assert.equal(believed(), "alive");
  assert.equal(believed([]), "alive");
  assert.equal(believed([DEAD, GOING]), "alive");
});
