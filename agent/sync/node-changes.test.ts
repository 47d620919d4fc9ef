import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { objectKey } from "../../api/names.ts";
import { FakeBackend, quiet } from "../../test/doubles/fake-backend.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { FakeSource } from "../../test/doubles/fake-source.ts";
import { SILENT } from "../../test/doubles/silent-events.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { Agent } from "./agent.ts";
import type { Reconciliation } from "./reconciler-events.ts";

const SLICES = [
  sliceFact({ key: "demo/west", cluster: "c2", region: "eu-west", endpoints: ["10.2.0.1"] }),
  sliceFact({ key: "demo/east", cluster: "c3", region: "us-east", endpoints: ["10.3.0.1"] }),
];

/** A clock that advances by `cost` milliseconds at every call. */
class BusyClock extends FakeClock {
  cost = 0;

  override now(): number {
    if (this.cost > 0) this.advance(this.cost);
    return super.now();
  }
}

/** An agent whose node is in the region of its Node object, if there is one. */
class Bench {
  readonly clock = new BusyClock();
  readonly source = new FakeSource();
  readonly backend = new FakeBackend();
  readonly planned: ObjectKey[] = [];
  readonly passes: Reconciliation[] = [];
  plan: ImportPlan | undefined;
  readonly agent = new Agent({
    today: () => 0,
    node: ({ object }) => nodeFact({ region: object?.region ?? "eu-west" }),
    sources: [this.source],
    backends: new Map([["IPv4", this.backend]]),
    clock: this.clock,
    random: () => 0,
    events: {
      listed: () => undefined,
      planned: (key, plan) => {
        this.planned.push(key);
        this.plan = plan;
      },
      problems: () => undefined,
      reconciled: (pass) => this.passes.push(pass),
      failed: () => undefined,
      ...SILENT,
    },
  });

  async started(first = (): void => undefined): Promise<void> {
    this.agent.start();
    first();
    this.source.tell.importChanged(importFact(), 0);
    for (const slice of SLICES) this.source.tell.sliceChanged(slice, 0);
    this.source.tell.listed();
    await quiet();
    this.backend.log.length = 0;
    this.planned.length = 0;
    this.passes.length = 0;
  }

  region(region: string, at: number): void {
    this.source.tell.nodeObserved({ object: { region, podCidrs: [], addresses: [] } }, at);
  }
}

describe("the node", () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.agent.stop());

  test("moves: everything is planned again, and the change has the time of its observation", async () => {
    await bench.started();
    bench.region("us-east", 3);
    await quiet();
    assert.equal(bench.plan?.services[0]?.endpoints[0]?.address, "10.3.0.1");
    assert.deepEqual(bench.backend.log, ["apply +demo/serve"]);
    assert.deepEqual(bench.passes[0]?.changedAt, [3]);
  });

  test("is reported again without a change: nothing is planned", async () => {
    await bench.started();
    bench.region("eu-west", 3);
    const properties = new Map([["cluster.clusterset.k8s.io", "c1"]]);
    bench.source.tell.nodeObserved({ properties }, 4);
    await quiet();
    assert.deepEqual([bench.planned, bench.backend.log], [[], []]);
  });

  test("is reported before all sources have listed: the first plan uses it", async () => {
    await bench.started(() => bench.region("us-east", 0));
    assert.equal(bench.plan?.services[0]?.endpoints[0]?.address, "10.3.0.1");
  });
});

describe("thousands of imports", () => {
  const MANY = 2_000;
  let bench: Bench;
  beforeEach(async () => {
    bench = new Bench();
    await bench.started();
    for (let i = 0; i < MANY; i++) {
      const vips = [`241.1.${i >> 8}.${i & 255}`];
      bench.source.tell.importChanged(importFact({ key: objectKey("many", `i${i}`), vips }), 0);
    }
    await quiet();
    bench.planned.length = 0;
    bench.clock.cost = 0.5;
  });
  afterEach(() => bench.agent.stop());

  test("are planned in slices, and one that changes meanwhile is planned before the rest", async () => {
    bench.region("us-east", 3);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(bench.planned.length > 0 && bench.planned.length < 50, `${bench.planned.length}`);
    bench.planned.length = 0;
    bench.source.tell.importChanged(importFact({ key: "many/i1999", vips: ["241.2.0.1"] }), 5);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(bench.planned[0], "many/i1999");
    assert.ok(bench.planned.length > 1, "the rest goes on");
    for (let i = 0; i < 500; i++) await quiet();
    assert.equal(bench.planned.filter((key) => key === "many/i1999").length, 1, "and only once");
    assert.equal(new Set(bench.planned).size, bench.planned.length, "like all others");
    assert.equal(bench.backend.kernel.size, MANY + 1);
  });

  test("have all been planned when the kernel is read for the first time", async () => {
    const { agent, source, backend, clock, planned } = new Bench();
    clock.cost = 0.5;
    agent.start();
    for (let i = 0; i < 300; i++) {
      const vips = [`241.0.${i >> 8}.${i & 255}`];
      source.tell.importChanged(importFact({ key: objectKey("many", `i${i}`), vips }), 0);
    }
    source.tell.listed();
    for (let i = 0; i < 500 && backend.log.length === 0; i++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([backend.log[0], planned.length], ["read", 300]);
    await agent.stop();
  });

  test("are written in their last state, whatever changes between the slices", async () => {
    bench.region("us-east", 3);
    for (let i = 0; i < 40; i++) {
      const vips = [`241.3.0.${i}`];
      bench.source.tell.importChanged(
        importFact({ key: objectKey("many", `i${i * 50}`), vips }),
        i,
      );
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < 500; i++) await quiet();
    assert.equal(bench.backend.kernel.size, MANY + 1);
    for (let i = 0; i < 40; i++) {
      const text = bench.backend.kernel.get(objectKey("many", `i${i * 50}`)) ?? "";
      assert.match(text, new RegExp(`"241\\.3\\.0\\.${i}"`));
    }
  });

  test("are no longer planned when the agent stops", async () => {
    bench.region("us-east", 3);
    await new Promise((resolve) => setImmediate(resolve));
    const { length } = bench.planned;
    await bench.agent.stop();
    for (let i = 0; i < 50; i++) await quiet();
    assert.equal(bench.planned.length, length);
  });
});
