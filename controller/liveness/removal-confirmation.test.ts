import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { ClusterFact } from "../model/facts.ts";
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
