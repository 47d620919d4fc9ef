import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ClusterLiveness } from "../liveness/cluster-liveness.ts";
import { type LeaseStep, leaseStep } from "./lease-step.ts";

/** A Lease, and clusters with the same ID that take the decided step. */
class Namesakes {
  readonly clock = new FakeClock();
  readonly #watches = new Map<string, ClusterLiveness>();
  #lease: { readonly uid: string; readonly contestedBy?: string } | undefined;
  #renewals = 0;

  /** One cluster decides, and takes the step. */
  look(uid: string): LeaseStep {
    const ignore = () => undefined;
    const events = { turned: ignore, silent: ignore, replaced: ignore };
    const watch = this.#watches.get(uid) ?? new ClusterLiveness(this.clock, events);
    this.#watches.set(uid, watch);
    if (this.#lease !== undefined) {
      watch.seen({
        id: "c1",
        uid: this.#lease.uid,
        properties: {},
        leaseSeconds: 30,
        renewal: String(this.#renewals),
        complete: true,
      });
    }
    const step = leaseStep(uid, this.#lease, watch.status("c1"));
    if (step.does === "write") {
      this.#lease = { uid };
      this.#renewals++;
    }
    if (step.does === "contest" && this.#lease) this.#lease = { ...this.#lease, contestedBy: uid };
    return step;
  }

  /** The clusters act one after the other, every ten seconds. */
  turns(count: number, ...uids: readonly string[]): LeaseStep[] {
    let steps: LeaseStep[] = [];
    for (let i = 0; i < count; i++) {
      steps = uids.map((uid) => this.look(uid));
      this.clock.advance(10_000);
    }
    return steps;
  }
}

test("a missing Lease is created and renewed", () => {
  const world = new Namesakes();
  assert.deepEqual(world.look("a"), { reason: "lease-absent", does: "write" });
  assert.deepEqual(world.turns(10, "a"), [{ reason: "lease-ours", does: "write" }]);
});

test("of two live clusters with one ID the second writes nothing, and both report it", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  assert.deepEqual(world.look("b"), { reason: "lease-observed", does: "wait", other: "a" });
  assert.deepEqual(world.turns(20, "a", "b"), [
    { reason: "duplicate-cluster-id", does: "write", other: "b" },
    { reason: "duplicate-cluster-id", does: "contest", other: "a" },
  ]);
  // The second cluster gets another ID: the conflict ends.
  world.turns(2, "a");
  assert.deepEqual(world.look("a"), { reason: "lease-ours", does: "write" });
});

test("a rebuilt cluster takes over its Lease after the Lease has expired", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  const waited = world.turns(3, "rebuilt");
  assert.deepEqual(waited, [{ reason: "lease-observed", does: "wait", other: "a" }]);
  world.clock.advance(1000);
  assert.deepEqual(world.look("rebuilt"), {
    reason: "lease-taken-over",
    does: "write",
    other: "a",
  });
  assert.deepEqual(world.look("rebuilt"), { reason: "lease-ours", does: "write" });
});

test("a replaced cluster that comes back waits", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  world.turns(6, "rebuilt");
  const [step] = world.turns(6, "a", "rebuilt");
  assert.deepEqual(step, { reason: "duplicate-cluster-id", does: "contest", other: "rebuilt" });
});
