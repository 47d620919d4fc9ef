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

test("each first statement of a cluster applies at once, but no endless invention of properties", () => {
  const clock = new FakeClock();
  let changes = 0;
  const description = new DampedDescription(clock, () => void changes++);
  const id = { "cluster.clusterset.k8s.io": "c2" };
  const properties = { ...id, "clusterset.k8s.io": "set" };
  description.observe({ properties: id });
  description.observe({ properties });
  description.observe({ properties, region: "eu" });
  const drain = { from: 0, until: 1000 };
  description.observe({ properties, region: "eu", drain });
  assert.deepEqual(description.current, { properties, region: "eu", drain });
  assert.equal(changes, 4);
  description.observe({ properties });
  description.observe({ properties, region: "eu" });
  assert.equal(description.current?.region, undefined, "it was stated before");
  clock.advance(30_000);
  assert.equal(description.current?.region, "eu");
  changes = 0;
  for (let i = 0; i < 1000; i++) description.observe({ properties: { [`p${i}`]: "x" } });
  for (let i = 0; i < 1000; i++) {
    const many = Array.from({ length: i }, (_, j): [string, string] => [`q${j}`, "x"]);
    description.observe({ properties: Object.fromEntries(many) });
  }
  assert.ok(changes < 40, `${changes}`);
  description.stop();
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
