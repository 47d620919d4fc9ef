import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ClusterWatch } from "../liveness/cluster-watch.ts";
import { type LeaseStep, leaseStep } from "./lease-step.ts";

/** A Lease, and clusters of one id that look at it and do what they should about it. */
class Namesakes {
  readonly clock = new FakeClock();
  readonly #watches = new Map<string, ClusterWatch>();
  #lease: { readonly uid: string; readonly contestedBy?: string } | undefined;
  #renewals = 0;

  /** One of them looks, and acts. */
  look(uid: string): LeaseStep {
    const events = { turned: () => undefined, replaced: () => undefined };
    const watch = this.#watches.get(uid) ?? new ClusterWatch({ clock: this.clock, events });
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
    const step = leaseStep(uid, this.#lease, watch.sight("c1"));
    if (step.does === "write") {
      this.#lease = { uid };
      this.#renewals++;
    }
    if (step.does === "contest" && this.#lease) this.#lease = { ...this.#lease, contestedBy: uid };
    return step;
  }

  /** They look in turns, every ten seconds. */
  turns(count: number, ...uids: readonly string[]): LeaseStep[] {
    let steps: LeaseStep[] = [];
    for (let i = 0; i < count; i++) {
      steps = uids.map((uid) => this.look(uid));
      this.clock.advance(10_000);
    }
    return steps;
  }
}

test("a Lease that nobody has is made, and renewed", () => {
  const world = new Namesakes();
  assert.deepEqual(world.look("a"), { reason: "lease-absent", does: "write" });
  assert.deepEqual(world.turns(10, "a"), [{ reason: "lease-ours", does: "write" }]);
});

test("of two living clusters of one id, the second writes nothing, and both are told", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  assert.deepEqual(world.look("b"), { reason: "lease-observed", does: "wait", other: "a" });
  assert.deepEqual(world.turns(20, "a", "b"), [
    { reason: "duplicate-cluster-id", does: "write", other: "b" },
    { reason: "duplicate-cluster-id", does: "contest", other: "a" },
  ]);
  // The second is given another id: the first hears no more of it.
  world.turns(2, "a");
  assert.deepEqual(world.look("a"), { reason: "lease-ours", does: "write" });
});

test("a cluster that is built anew takes its Lease over once that has been silent for its time", () => {
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

test("who was dead, was replaced and wakes up is the one that waits", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  world.turns(6, "rebuilt");
  const [step] = world.turns(6, "a", "rebuilt");
  assert.deepEqual(step, { reason: "duplicate-cluster-id", does: "contest", other: "rebuilt" });
});
