import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { ClusterFact } from "../model/facts.ts";
import { DampedDescription } from "./damped-description.ts";

function damped() {
  const clock = new FakeClock();
  const regions: (string | undefined)[] = [];
  const description: DampedDescription = new DampedDescription(clock, () =>
    regions.push(description.current?.region),
  );
  const observe = (region: string): void => {
    const cluster: ClusterFact = {
      id: "c2",
      uid: "u",
      region,
      properties: {},
      leaseSeconds: 30,
      renewal: String(clock.now()),
      complete: true,
    };
    description.observe(cluster);
  };
  return { clock, regions, description, observe };
}

test("the first region and the next change apply at once", () => {
  const { clock, regions, observe } = damped();
  observe("eu");
  observe("us");
  assert.deepEqual(regions, ["eu", "us"]);
  clock.advance(30_000);
  observe("eu");
  assert.deepEqual(regions, ["eu", "us", "eu"]);
});

test("a region that changes all the time is applied once in 30 s, with its last value", () => {
  const { clock, regions, observe } = damped();
  observe("r0");
  for (let i = 1; i <= 600; i++) {
    observe(`r${i}`);
    clock.advance(100);
  }
  assert.deepEqual(regions, ["r0", "r1", "r300", "r600"]);
});

test("a region that is back before it was applied changes nothing, and renewals are no change", () => {
  const { clock, regions, observe } = damped();
  for (const region of ["eu", "us", "eu", "us", "us"]) observe(region);
  clock.advance(60_000);
  assert.deepEqual(regions, ["eu", "us"]);
  assert.equal(clock.pending, 0);
});

test("after stop nothing is applied", () => {
  const { clock, regions, description, observe } = damped();
  for (const region of ["eu", "us", "asia"]) observe(region);
  description.stop();
  clock.advance(60_000);
  assert.deepEqual(regions, ["eu", "us"]);
  assert.equal(clock.pending, 0);
});
