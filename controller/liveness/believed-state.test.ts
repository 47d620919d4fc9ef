import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLLER_NAME } from "../../api/keys.ts";
import { type ImportedSliceFact, parseImportedSlice } from "../model/parse-imported-slice.ts";
import { believedState } from "./believed-state.ts";

const READY = { ready: true, serving: true, terminating: false };
const HELD = { ...READY, ready: false };
const GOING = { ...HELD, terminating: true };
const DEAD = { ...HELD, serving: false };

/** A slice that we imported, as it is read back. */
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
  return believedState(slices.map(imported));
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
