import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ClusterFact } from "../model/facts.ts";
import { Assurance } from "./assurance.ts";

function lease(renewal: number, complete = true): ClusterFact {
  const rest = { id: "c2", uid: "u2", properties: {}, leaseSeconds: 30 };
  return { ...rest, renewal: String(renewal), complete };
}

class Stage {
  given = 0;
  readonly clock = new FakeClock();
  readonly assurance = new Assurance(this.clock, () => this.given++);

  /** It renews its Lease, and again after a while. */
  renew(...renewals: readonly number[]): void {
    for (const renewal of renewals) {
      this.assurance.renewed(lease(renewal));
      this.clock.advance(2000);
    }
  }

  /** A registry that is watched, and whose cluster has said that all is there. */
  static assured(): Stage {
    const stage = new Stage();
    stage.assurance.renewed(lease(1));
    stage.assurance.connected(true);
    assert.equal(stage.given, 1);
    return stage;
  }
}

test("at the start, what is listed is all if the cluster's last word was that it is", () => {
  const { assurance } = Stage.assured();
  assert.equal(assurance.isGiven, true);
});

test("nothing is known of what is not there before all is watched, without a Lease, or by one that does not say so", () => {
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

test("after a break it takes two renewals that are seen while all is watched, and not what a list shows", () => {
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

test("a cluster that takes its word back is not believed about what is not there until it gives it again", () => {
  const stage = Stage.assured();
  const { assurance } = stage;
  assurance.renewed(lease(2, false));
  assert.equal(assurance.isGiven, false);
  stage.renew(3, 4);
  assert.equal(assurance.isGiven, true);
});

test("an older server's records are old until its cluster says that all is there", () => {
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
