import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { FakeBackend, quiet } from "../../test/support/fake-backend.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { FakeSource } from "../../test/support/fake-source.ts";
import { SILENT } from "../../test/support/silent-events.ts";
import { cidr, endpointsOf, importFact, nodeFact, sliceFact } from "../../test/support/worlds.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { Agent, familiesOf } from "./agent.ts";
import type { Failure } from "./reconciler-events.ts";

const SERVE = importFact({ vips: ["241.0.0.10", "fd00:241::10"] });
const FOUR = sliceFact({ key: "demo/four", cluster: "c1", endpoints: ["10.1.0.1"] });
const SIX = sliceFact({
  key: "demo/six",
  cluster: "c1",
  family: "IPv6",
  endpoints: ["fd10:1::1"],
});

/** An agent between two sources and two kernels. */
class Bench {
  readonly clock = new FakeClock();
  readonly sources = [new FakeSource(), new FakeSource()] as const;
  readonly four = new FakeBackend();
  readonly six = new FakeBackend();
  readonly planned: string[] = [];
  readonly plans = new Map<ObjectKey, ImportPlan | undefined>();
  readonly failures: Failure[] = [];
  readonly problems: string[] = [];
  listedAt: number | undefined;
  readonly agent = new Agent({
    node: () => nodeFact(),
    sources: this.sources,
    backends: new Map([
      ["IPv4", this.four],
      ["IPv6", this.six],
    ]),
    clock: this.clock,
    random: () => 0,
    events: {
      listed: () => {
        this.listedAt = this.clock.now();
      },
      planned: (key, plan) => {
        this.planned.push(key);
        this.plans.set(key, plan);
      },
      problems: (object, problems) => this.problems.push(`${object} ${problems.length}`),
      reconciled: () => undefined,
      failed: (failure) => this.failures.push(failure),
      ...SILENT,
    },
  });

  /** Starts it with what is given, and lets it write that. */
  async started(...facts: readonly (typeof SERVE | typeof FOUR)[]): Promise<void> {
    this.agent.start();
    for (const fact of facts) {
      if ("importKey" in fact) this.sources[0].tell.sliceChanged(fact, 0);
      else this.sources[0].tell.importChanged(fact, 0);
    }
    for (const source of this.sources) source.tell.listed();
    await quiet();
    for (const { log } of [this.four, this.six]) log.length = 0;
    this.planned.length = 0;
  }
}

describe("an agent", () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.agent.stop());

  test("plans nothing, reads nothing and writes nothing before every source has listed", async () => {
    bench.agent.start();
    const [first, second] = bench.sources;
    first.tell.importChanged(SERVE, 0);
    first.tell.listed();
    first.tell.listed();
    second.tell.sliceChanged(FOUR, 0);
    await quiet();
    assert.equal(bench.agent.listed, false);
    assert.deepEqual([bench.planned, bench.four.log, bench.six.log], [[], [], []]);
    bench.clock.advance(5);
    second.tell.listed();
    await quiet();
    assert.equal(bench.listedAt, 5);
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual(bench.four.log, ["read", "apply +demo/serve"]);
    assert.deepEqual(bench.six.log, ["read", "apply +demo/serve"]);
  });

  test("hands each family its own services", async () => {
    await bench.started(SERVE, FOUR, SIX);
    const text = (backend: FakeBackend) => backend.kernel.get("demo/serve") ?? "";
    assert.match(text(bench.four), /241\.0\.0\.10.*10\.1\.0\.1/);
    assert.doesNotMatch(text(bench.four), /fd00/);
    assert.match(text(bench.six), /fd00:241::10.*fd10:1::1/);
    assert.doesNotMatch(text(bench.six), /241\.0\.0\.10/);
  });

  test("writes a change to the family that it concerns", async () => {
    await bench.started(SERVE, FOUR, SIX);
    bench.sources[1].tell.sliceChanged({ ...FOUR, active: false }, 1);
    await quiet();
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual([bench.four.log, bench.six.log], [["apply +demo/serve"], []]);
  });

  test("plans what changes together once, and what does not change not at all", async () => {
    await bench.started(SERVE, FOUR, importFact({ key: "demo/other", vips: ["241.0.0.11"] }));
    const { tell } = bench.sources[0];
    tell.sliceChanged({ ...FOUR, active: false }, 1);
    tell.sliceChanged(FOUR, 1);
    tell.sliceChanged(SIX, 1);
    tell.importChanged({ ...SERVE, affinitySeconds: 60 }, 1);
    assert.deepEqual(bench.planned, [], "not before the turn of the event loop is over");
    await quiet();
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual(bench.four.log, ["apply +demo/serve"]);
  });

  test("takes an import out of the kernel when it is gone, and says so", async () => {
    await bench.started(SERVE);
    bench.sources[0].tell.importRemoved("demo/serve", 1);
    await quiet();
    assert.equal(bench.plans.get("demo/serve"), undefined);
    assert.deepEqual(bench.four.log, ["apply -demo/serve"]);
    assert.deepEqual(bench.agent.keys(), []);
  });

  test("gives a VIP to the next import when the one that holds it goes", async () => {
    const young = importFact({ key: "demo/young", created: 2, vips: ["241.0.0.10"] });
    await bench.started({ ...SERVE, created: 1 }, young);
    assert.equal(bench.plans.get("demo/young")?.reason, "vip-conflict");
    bench.sources[0].tell.importRemoved("demo/serve", 1);
    await quiet();
    assert.equal(bench.plans.get("demo/young")?.reason, "programmed");
    assert.deepEqual(bench.four.log, ["apply +demo/young -demo/serve"]);
  });

  test("goes on with one family while the other fails", async () => {
    await bench.started(SERVE, FOUR, SIX);
    bench.six.faults.push("before", "before", "before");
    for (const address of ["10.1.0.2", "10.1.0.3"]) {
      const endpoints = endpointsOf("IPv4", [address]);
      bench.sources[0].tell.sliceChanged({ ...FOUR, endpoints }, 1);
      const sixth = endpointsOf("IPv6", [`fd10:1::${address.at(-1)}`]);
      bench.sources[0].tell.sliceChanged({ ...SIX, endpoints: sixth }, 1);
      await quiet();
    }
    assert.deepEqual(bench.four.log, ["apply +demo/serve", "apply +demo/serve"]);
    assert.deepEqual(
      bench.failures.map(({ family }) => family),
      ["IPv6"],
    );
    const { families } = bench.agent;
    assert.equal(families.get("IPv4")?.oldestWaiting, undefined);
    assert.equal(families.get("IPv6")?.oldestWaiting, 1);
    for (let i = 0; i < 4; i++) {
      bench.clock.advance(10_000);
      await quiet();
    }
    assert.match(bench.six.kernel.get("demo/serve") ?? "", /fd10:1::3/);
    assert.equal(bench.agent.families.get("IPv6")?.oldestWaiting, undefined);
  });

  test("comes to the facts of now after a failure, not to those of then", async () => {
    await bench.started(SERVE);
    bench.four.faults.push("before");
    bench.sources[0].tell.sliceChanged(FOUR, 1);
    await quiet();
    bench.sources[0].tell.sliceRemoved(FOUR.key, 2);
    await quiet();
    bench.clock.advance(1000);
    await quiet();
    assert.deepEqual(bench.four.log, ["apply +demo/serve", "read"], "there was nothing to write");
  });

  test("tells how far each family is", async () => {
    bench.agent.start();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: false });
    const release = bench.four.hold();
    for (const source of bench.sources) source.tell.listed();
    await quiet();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: false, passSince: 0 });
    assert.deepEqual(bench.agent.families.get("IPv6"), { synced: true });
    release();
    await quiet();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: true });
  });

  test("answers with the plan of now, by name", async () => {
    await bench.started(SERVE, sliceFact({ key: "a/x", importKey: "a/orphan" }));
    assert.deepEqual(bench.agent.keys(), ["a/orphan", "demo/serve"]);
    assert.equal(bench.agent.plan("a/orphan")?.reason, "not-imported");
    assert.equal(bench.agent.plan("demo/none"), undefined);
    bench.sources[0].tell.sliceChanged(FOUR, 1);
    assert.equal(bench.agent.plan("demo/serve")?.services[0]?.tier, "local");
  });

  test("passes on what sources complain of, before they have listed too", () => {
    bench.agent.start();
    const problem: Problem = { reason: "invalid-name", object: "X", field: "y", value: "z" };
    bench.sources[0].tell.problems("X", [problem]);
    bench.sources[0].tell.problems("X", []);
    assert.deepEqual(bench.problems, ["X 1", "X 0"]);
  });
});

describe("an agent that is stopped", () => {
  test("stops its sources, writes what is in flight and nothing more, and leaves the kernel", async () => {
    const bench = new Bench();
    await bench.started(SERVE);
    const release = bench.four.hold();
    bench.sources[0].tell.sliceChanged(FOUR, 1);
    await quiet();
    const stopped = bench.agent.stop();
    bench.sources[0].tell.importRemoved("demo/serve", 2);
    release();
    await stopped;
    await quiet();
    assert.ok(bench.sources.every((source) => source.stopped));
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual(bench.four.log, ["apply +demo/serve", "close"]);
    assert.match(bench.four.kernel.get("demo/serve") ?? "", /10\.1\.0\.1/);
  });

  test("opens nothing when its last source lists only then", async () => {
    const bench = new Bench();
    bench.agent.start();
    bench.sources[0].tell.listed();
    const stopped = bench.agent.stop();
    bench.sources[1].tell.listed();
    await stopped;
    await quiet();
    assert.equal(bench.listedAt, undefined);
    assert.deepEqual(bench.four.log, ["close"]);
  });
});

test("the families are those that have a ClusterSet CIDR, IPv4 first", () => {
  const both = [cidr("fd00:241::/108"), cidr("241.0.0.0/8")];
  assert.deepEqual(familiesOf(nodeFact({ clusterSetCidrs: both })), ["IPv4", "IPv6"]);
  assert.deepEqual(familiesOf(nodeFact({ clusterSetCidrs: both.slice(0, 1) })), ["IPv6"]);
});
