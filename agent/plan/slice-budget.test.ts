import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { objectKey } from "../../api/names.ts";
import { importFact, nodeFact, sliceFact } from "../../test/support/worlds.ts";
import type { SliceFact } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import { planImport } from "./plan.ts";
import { MOST_CHOICES } from "./slice-budget.ts";

const PORTS = Array.from({ length: 10 }, (_, i) => ({
  name: `p${i}`,
  protocol: "TCP" as const,
  port: 80 + i,
}));
const FULL = 1_000;
/** Full slices of all ports that fit. */
const FITTING = MOST_CHOICES / (FULL * PORTS.length);

function slice(n: number, cluster: string, endpoints = FULL): SliceFact {
  const addresses = Array.from({ length: endpoints }, (_, i) => `10.${n}.${i >> 8}.${i & 255}`);
  const key = objectKey("demo", `s${100 + n}`);
  return sliceFact({ key, cluster, region: cluster, ports: PORTS, endpoints: addresses });
}

function planned(slices: readonly SliceFact[]) {
  const model = new Model();
  model.setImport(importFact({ ports: PORTS }), 0);
  for (const one of slices) model.setSlice(one, 0);
  const view = model.view("demo/serve");
  assert.ok(view);
  return planImport(view, nodeFact({ cluster: "c1", region: "c1" }));
}

/** Slices that are left out whole, and why. */
function leftOut(slices: readonly SliceFact[]): string[] {
  return planned(slices)
    .excluded.filter(({ servicePort }) => servicePort === undefined)
    .map(({ slice: key, reason }) => `${key} ${reason}`);
}

describe("of an import with more endpoints than can be chosen among", () => {
  const far = Array.from({ length: FITTING }, (_, i) => slice(i, "c9"));

  test("nothing is left out as long as it fits", () => {
    assert.deepEqual(leftOut(far), []);
    assert.equal(planned(far).services[0]?.endpoints.length, FITTING * FULL);
  });

  test("what is farthest is left out, told by slice, whatever came first", () => {
    const near = slice(99, "c1", 1);
    assert.deepEqual(leftOut([...far, near]), [`demo/s${99 + FITTING} too-many-endpoints`]);
    assert.deepEqual(leftOut([near, ...far.toReversed()]), [
      `demo/s${99 + FITTING} too-many-endpoints`,
    ]);
    assert.deepEqual(
      planned([...far, near]).services.map(({ tier, endpoints }) => [tier, endpoints.length]),
      PORTS.map(() => ["local", 1]),
    );
  });

  test("what could not be used anyway counts for nothing", () => {
    const inactive = { ...slice(99, "c1"), active: false };
    assert.deepEqual(leftOut([...far, inactive]), ["demo/s199 inactive"]);
  });
});
