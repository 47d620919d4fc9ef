import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Completeness } from "./completeness.ts";

class Stage {
  readonly clock = new FakeClock();
  readonly member = { isWatched: true };
  said = 0;
  readonly completeness = new Completeness({
    clock: this.clock,
    member: this.member,
    completed: () => this.said++,
  });

  /** An export is published, or that fails. */
  async publish(reason?: FaultReason): Promise<void> {
    const act = async () => {
      if (reason !== undefined) throw new ApiFault(reason, "no");
    };
    // What it throws is the fault that was given to it.
    await this.completeness.publish("shop/web", act).catch(() => undefined);
  }
}

test("all is there once every name that was due has been published, and that is said more than once", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  stage.completeness.look();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
  stage.clock.advance(60_000);
  assert.ok(stage.said > 1 && stage.said < 10, String(stage.said));
});

test("an export that could not be written is waited for, and one that is refused for good is not", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  for (const reason of ["unreachable", "write-conflict", "forbidden"] as const) {
    await stage.publish(reason);
    assert.equal(stage.completeness.isSeen, false, reason);
  }
  await stage.publish("invalid");
  assert.equal(stage.completeness.isSeen, true);
});

test("it is seen no more once a connection is lost, and again when what that brings to light is done", async () => {
  const stage = new Stage();
  stage.completeness.look();
  assert.equal(stage.completeness.isSeen, true);
  stage.completeness.due("shop/web");
  assert.equal(stage.completeness.isSeen, true, "a change of an export is no loss");
  stage.member.isWatched = false;
  stage.completeness.look();
  assert.equal(stage.completeness.isSeen, false);
  stage.member.isWatched = true;
  stage.completeness.look();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
});
