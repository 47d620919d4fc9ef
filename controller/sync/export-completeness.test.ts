import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ExportCompleteness } from "./export-completeness.ts";

class Stage {
  readonly clock = new FakeClock();
  readonly registry = { isWatched: true };
  renewals = 0;
  readonly completeness = new ExportCompleteness(this.registry, this.clock, () => this.renewals++);

  /** Publishes an export, or fails for this reason. */
  async publish(reason?: FaultReason): Promise<void> {
    const act = async () => {
      if (reason !== undefined) throw new ApiFault(reason, "no");
    };
    await this.completeness.publish("shop/web", act).catch(() => undefined);
  }
}

test("the registry is complete once every queued name is published, and this is repeated", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
  stage.clock.advance(60_000);
  assert.ok(stage.renewals > 1 && stage.renewals < 10, String(stage.renewals));
});

test("a failed export delays completeness, a rejected one does not", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  for (const reason of ["unreachable", "write-conflict", "forbidden"] as const) {
    await stage.publish(reason);
    assert.equal(stage.completeness.isSeen, false, reason);
  }
  await stage.publish("invalid");
  assert.equal(stage.completeness.isSeen, true);
});

test("a lost connection ends completeness until all names are published again", async () => {
  const stage = new Stage();
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, true);
  stage.completeness.due("shop/web");
  assert.equal(stage.completeness.isSeen, true, "a change of an export does not end completeness");
  stage.registry.isWatched = false;
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  stage.registry.isWatched = true;
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
});
