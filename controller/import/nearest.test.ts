import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointFact } from "../model/facts.ts";
import type { RotationState } from "../model/rotation.ts";
import type { Contribution } from "./imported-slices.ts";
import { nearestOf } from "./nearest.ts";

const HERE = { cluster: "c1", region: "eu" };

function share(
  cluster: string,
  region: string | undefined,
  conditions: readonly boolean[],
  state: RotationState = "alive",
): Contribution {
  const endpoints = conditions.map((ready, i): EndpointFact => {
    return { address: `10.0.0.${i}`, ready, serving: ready, terminating: false };
  });
  const key = `shop/web-${cluster}` as const;
  const slice = { key, service: "shop/web", family: "IPv4", ports: [], endpoints } as const;
  return {
    // The rest of a record has no part in it.
    record: { cluster } as Contribution["record"],
    slices: [slice],
    state,
    ...(region !== undefined && { cluster: { region, properties: {} } }),
  };
}

test("the nearest place is the first with a ready endpoint in a cluster in rotation", () => {
  const c1 = share("c1", "eu", [false, true]);
  const c2 = share("c2", "eu", [true]);
  const c3 = share("c3", "us", [true]);
  const of = (...shares: readonly Contribution[]) => {
    const { exporters, ...rest } = nearestOf(shares, HERE);
    assert.deepEqual(
      exporters,
      shares.map(({ record }) => record.cluster),
    );
    return rest;
  };
  const all = { place: "local", clusters: ["c1"], exportedHere: true };
  assert.deepEqual(of(c3, c2, c1), all);
  const none = share("c1", "eu", [false]);
  const regional = { place: "regional", clusters: ["c2"], exportedHere: true };
  assert.deepEqual(of(none, c2, c3), regional);
  assert.deepEqual(of(c2, c3), { ...regional, exportedHere: false });
  for (const state of ["stale", "drained"] as const) {
    const away = share("c2", "eu", [true], state);
    const global = { place: "global", clusters: ["c3"], exportedHere: true };
    assert.deepEqual(of(none, away, c3), global, state);
    assert.deepEqual(of(none, away), { place: "none", clusters: [], exportedHere: true }, state);
  }
});

test("clusters of the same place are all named; an unknown region is no region's", () => {
  const [c2, c3] = [share("c2", undefined, [true]), share("c3", "eu", [true])];
  assert.deepEqual(nearestOf([c3, c2], { cluster: "c1" }), {
    ...{ place: "global", clusters: ["c2", "c3"], exporters: ["c3", "c2"], exportedHere: false },
  });
  assert.equal(nearestOf([c2, c3], HERE).clusters.join(), "c3");
});
