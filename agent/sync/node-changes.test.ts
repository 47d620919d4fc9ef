import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { objectKey } from "../../api/names.ts";
import { quiet } from "../../test/doubles/fake-table.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { AgentBench } from "../../test/stages/agent-bench.ts";

const SLICES = [
  sliceFact({ key: "demo/west", cluster: "c2", region: "eu-west", endpoints: ["10.2.0.1"] }),
  sliceFact({ key: "demo/east", cluster: "c3", region: "us-east", endpoints: ["10.3.0.1"] }),
];

/** An agent whose node is in the region of its Node object, if there is one. */
function located(): AgentBench {
  return new AgentBench(({ object }) => nodeFact({ region: object?.region ?? "eu-west" }));
}

function move({ tell }: AgentBench, region: string, at: number): void {
  tell.nodeObserved({ object: { region, podCidrs: [], addresses: [] } }, at);
}

function address({ plans }: AgentBench): string | undefined {
  return plans.get("demo/serve")?.services[0]?.endpoints[0]?.address;
}

describe("the node", () => {
  let bench: AgentBench;
  beforeEach(() => {
    bench = located();
  });
  afterEach(() => bench.agent.stop());

  test("moves: everything is planned again, and the change has the time of its observation", async () => {
    await bench.started(importFact(), ...SLICES);
    move(bench, "us-east", 3);
    await quiet();
    assert.equal(address(bench), "10.3.0.1");
    assert.deepEqual(bench.four.log, ["apply +demo/serve"]);
    assert.deepEqual(bench.passes[0]?.changedAt, [3]);
  });

  test("is reported again without a change: nothing is planned", async () => {
    await bench.started(importFact(), ...SLICES);
    move(bench, "eu-west", 3);
    const properties = new Map([["cluster.clusterset.k8s.io", "c1"]]);
    bench.tell.nodeObserved({ properties }, 4);
    await quiet();
    assert.deepEqual([bench.planned, bench.four.log], [[], []]);
  });

  test("is reported before all sources have listed: the first plan uses it", async () => {
    bench.agent.start();
    move(bench, "us-east", 0);
    await bench.listed(importFact(), ...SLICES);
    assert.equal(address(bench), "10.3.0.1");
  });
});

describe("thousands of imports", () => {
  const MANY = 2_000;
  let bench: AgentBench;
  beforeEach(async () => {
    bench = located();
    await bench.started(importFact(), ...SLICES);
    for (let i = 0; i < MANY; i++) {
      const vips = [`241.1.${i >> 8}.${i & 255}`];
      bench.tell.importChanged(importFact({ key: objectKey("many", `i${i}`), vips }), 0);
    }
    await quiet();
    bench.planned.length = 0;
    bench.clock.cost = 0.5;
  });
  afterEach(() => bench.agent.stop());

  test("are planned in slices, and one that changes meanwhile is planned before the rest", async () => {
    move(bench, "us-east", 3);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(bench.planned.length > 0 && bench.planned.length < 50, `${bench.planned.length}`);
    bench.planned.length = 0;
    bench.tell.importChanged(importFact({ key: "many/i1999", vips: ["241.2.0.1"] }), 5);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(bench.planned[0], "many/i1999");
    assert.ok(bench.planned.length > 1, "the rest goes on");
    for (let i = 0; i < 500; i++) await quiet();
    assert.equal(bench.planned.filter((key) => key === "many/i1999").length, 1, "and only once");
    assert.equal(new Set(bench.planned).size, bench.planned.length, "like all others");
    assert.equal(bench.four.kernel.size, MANY + 1);
  });

  test("have all been planned when the kernel is read for the first time", async () => {
    const fresh = located();
    fresh.clock.cost = 0.5;
    fresh.agent.start();
    for (let i = 0; i < 300; i++) {
      const vips = [`241.0.${i >> 8}.${i & 255}`];
      fresh.tell.importChanged(importFact({ key: objectKey("many", `i${i}`), vips }), 0);
    }
    for (const source of fresh.sources) source.tell.listed();
    for (let i = 0; i < 500 && fresh.four.log.length === 0; i++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([fresh.four.log[0], fresh.planned.length], ["read", 300]);
    await fresh.agent.stop();
  });

  test("are written in their last state, whatever changes between the slices", async () => {
    move(bench, "us-east", 3);
    for (let i = 0; i < 40; i++) {
      const vips = [`241.3.0.${i}`];
      bench.tell.importChanged(importFact({ key: objectKey("many", `i${i * 50}`), vips }), i);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < 500; i++) await quiet();
    assert.equal(bench.four.kernel.size, MANY + 1);
    for (let i = 0; i < 40; i++) {
      const text = bench.four.kernel.get(objectKey("many", `i${i * 50}`)) ?? "";
      assert.match(text, new RegExp(`"241\\.3\\.0\\.${i}"`));
    }
  });

  test("are no longer planned when the agent stops", async () => {
    move(bench, "us-east", 3);
    await new Promise((resolve) => setImmediate(resolve));
    const { length } = bench.planned;
    await bench.agent.stop();
    for (let i = 0; i < 50; i++) await quiet();
    assert.equal(bench.planned.length, length);
  });
});
