import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldStage } from "../../test/stages/hold-stage.ts";
import { ControlPlaneContact } from "./control-plane-contact.ts";

/** A cluster with two Services, and its control plane. */
class Cluster {
  readonly stage = new HoldStage();
  readonly contact = new ControlPlaneContact(this.stage.clock, {
    lost: () => this.stage.hold.lost(),
    regained: () => this.stage.hold.regained(),
  });

  constructor() {
    for (const n of [1, 2, 3]) this.stage.set("demo/a", `10.0.0.${n}`, "ready");
    for (const n of [4, 5]) this.stage.set("demo/b", `10.0.0.${n}`, "ready");
    this.contact.state("slices", { reason: "watching" });
    this.run(20);
  }

  /** The control plane runs for `seconds`; its controllers renew their Lease every two seconds. */
  run(seconds: number): void {
    for (let i = 0; i < seconds; i += 2) {
      const renewTime = String(this.stage.clock.now());
      this.contact.controllers({ spec: { leaseDurationSeconds: 15, renewTime } });
      this.stage.clock.advance(2000);
    }
  }

  words(): string {
    return [...new Set(this.stage.words())].join(", ");
  }
}

test("readiness is held back after a control plane was paused for a minute and reports all endpoints unready for ten seconds", () => {
  const cluster = new Cluster();
  cluster.stage.clock.advance(60_000);
  assert.equal(cluster.words(), "ready");
  cluster.run(4);
  cluster.stage.setAll("unready");
  assert.equal(cluster.words(), "held");
  cluster.run(10);
  assert.equal(cluster.words(), "held");
  cluster.stage.setAll("ready");
  assert.equal(cluster.words(), "ready");
  cluster.run(60);
  assert.deepEqual(cluster.stage.reported, ["held 4 of 5 in 2", "released 0 of 5 in 0"]);
});

test("endpoints that failed with their control plane are unready 30 s after its return", () => {
  const cluster = new Cluster();
  cluster.stage.clock.advance(60_000);
  cluster.stage.setAll("unready");
  cluster.run(28);
  assert.equal(cluster.words(), "held");
  cluster.run(4);
  assert.equal(cluster.words(), "unready");
});

test("without an outage all endpoints become unready at once", () => {
  const cluster = new Cluster();
  cluster.stage.setAll("unready");
  assert.deepEqual([cluster.words(), cluster.stage.reported], ["unready", []]);
});

test("a restart of the API server is an outage", () => {
  const cluster = new Cluster();
  cluster.contact.state("slices", { reason: "unreachable" });
  cluster.run(4);
  cluster.contact.state("slices", { reason: "listing" });
  cluster.contact.state("slices", { reason: "watching" });
  cluster.stage.setAll("unready");
  assert.equal(cluster.words(), "held");
});

test("after a pause of this process unreadiness is not held back", () => {
  const cluster = new Cluster();
  cluster.stage.clock.standStill(60_000);
  cluster.run(2);
  cluster.stage.setAll("unready");
  assert.equal(cluster.words(), "unready");
});
