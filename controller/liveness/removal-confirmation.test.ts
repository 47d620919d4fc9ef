import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { ClusterFact } from "../model/facts.ts";
import { DampedDescription } from "./damped-description.ts";
import { RemovalConfirmation } from "./removal-confirmation.ts";

function lease(renewal: number, complete = true): ClusterFact {
  const rest = { id: "c2", uid: "u2", properties: {}, leaseSeconds: 30 };
  return { ...rest, renewal: String(renewal), complete };
}

class Stage {
  given = 0;
  readonly clock = new FakeClock();
  readonly assurance = new RemovalConfirmation(this.clock, () => this.given++);

  /** Renews the Lease twice, some time apart. */
  renew(...renewals: readonly number[]): void {
    for (const renewal of renewals) {
      this.assurance.renewed(lease(renewal));
      this.clock.advance(2000);
    }
  }

  /** A watched registry whose Lease is marked complete. */
  static assured(): Stage {
    const stage = new Stage();
    stage.assurance.renewed(lease(1));
    stage.assurance.connected(true);
    assert.equal(stage.given, 1);
    return stage;
  }
}

test("at the start a listed mark confirms absence", () => {
  const { assurance } = Stage.assured();
  assert.equal(assurance.isGiven, true);
});

test("absence is unconfirmed before everything is watched, without a Lease, and without the mark", () => {
  const stage = new Stage();
  stage.assurance.renewed(lease(1));
  assert.equal(stage.assurance.isGiven, false);
  stage.assurance.renewed(undefined);
  stage.assurance.connected(true);
  assert.equal(stage.assurance.isGiven, false);
  stage.assurance.renewed(lease(2, false));
  assert.equal(stage.assurance.isGiven, false);
  stage.assurance.renewed(lease(3));
  assert.equal(stage.assurance.isGiven, true);
  assert.equal(stage.given, 1);
});

test("after a lost connection it takes two renewals during watches, not a list", () => {
  const stage = Stage.assured();
  const { assurance } = stage;
  assurance.connected(false);
  assert.equal(assurance.isGiven, false);
  assurance.renewed(lease(2));
  assurance.connected(true);
  assert.equal(assurance.isGiven, false);
  assurance.renewed(lease(2));
  assert.equal(assurance.isGiven, false, "nobody has renewed it");
  for (const renewal of [3, 4]) assurance.renewed(lease(renewal));
  assert.equal(assurance.isGiven, false, "records may be late");
  stage.renew(5, 6);
  assert.deepEqual([assurance.isGiven, stage.given], [true, 2]);
  stage.renew(7);
  assert.equal(stage.given, 2, "told once");
});

test("a removed mark withdraws the confirmation until it is set again", () => {
  const stage = Stage.assured();
  const { assurance } = stage;
  assurance.renewed(lease(2, false));
  assert.equal(assurance.isGiven, false);
  stage.renew(3, 4);
  assert.equal(assurance.isGiven, true);
});

test("records of a rewound API server are not used until the Lease is marked complete", () => {
  const stage = Stage.assured();
  const { assurance } = stage;
  assurance.rewound();
  assurance.connected(false);
  assurance.renewed(lease(0));
  assurance.connected(true);
  assert.deepEqual([assurance.isGiven, assurance.isRewound], [false, true]);
  stage.renew(5, 6);
  assert.deepEqual([assurance.isGiven, assurance.isRewound], [true, false]);
});

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
