import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { type FakeTable, quiet } from "../../test/doubles/fake-table.ts";
import { cidr, endpointsOf, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { AgentBench } from "../../test/stages/agent-bench.ts";
import { readiness } from "../observe/readiness.ts";

const SERVE = importFact({ vips: ["241.0.0.10", "fd00:241::10"] });
const FOUR = sliceFact({ key: "demo/four", cluster: "c1", endpoints: ["10.1.0.1"] });
const SIX = sliceFact({
  key: "demo/six",
  cluster: "c1",
  family: "IPv6",
  endpoints: ["fd10:1::1"],
});

/** Older than `SERVE`, with its VIP. */
const RIVAL = importFact({ key: "evil/old", created: 1, vips: ["241.0.0.10"] });

const LIMITS = { maxRulesPerImport: 100, maxRulesPerNamespace: 150, maxRules: 1000 };

describe("an agent", () => {
  let bench: AgentBench;
  beforeEach(() => {
    bench = new AgentBench();
  });
  afterEach(() => bench.agent.stop());

  test("resets connections only a second after the last slice with their endpoint was deleted", async () => {
    const resets = importFact({ vips: ["241.0.0.10"], onEndpointDeath: "reset" });
    /** Endpoints whose connections the kernel of IPv4 is to keep; undefined: all. */
    const kept = async (ms: number): Promise<unknown> => {
      bench.clock.advance(ms);
      await quiet();
      return JSON.parse(bench.four.kernel.get(resets.key) ?? "[{}]")[0].keeps;
    };
    await bench.started(resets, FOUR);
    assert.equal(await kept(0), undefined);
    const all = await kept(1_000);
    assert.deepEqual(all, ["10.1.0.1:8080"]);
    bench.tell.sliceRemoved(FOUR.key, 0);
    assert.deepEqual([await kept(0), await kept(999)], [all, all]);
    assert.deepEqual(await kept(1), []);
  });

  test("moves to a farther cluster at its share of the window of a drain, without any event", async () => {
    const shift = { direction: "draining", from: 0, length: 60_000 } as const;
    const endpoints = [{ address: "10.1.0.1", condition: "serving" as const }];
    const drained = sliceFact({ cluster: "c1", endpoints, shift });
    const other = sliceFact({ key: "demo/other", cluster: "c2", endpoints: ["10.2.0.1"] });
    await bench.started(SERVE, drained, other);
    const kernel = () => bench.four.kernel.get("demo/serve") ?? "";
    assert.match(kernel(), /"10\.1\.0\.1"/);
    bench.clock.advance(60_000);
    await quiet();
    assert.doesNotMatch(kernel(), /"10\.1\.0\.1"/);
    assert.match(kernel(), /"10\.2\.0\.1"/);
  });

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

  test("gives each family its own services", async () => {
    await bench.started(SERVE, FOUR, SIX);
    const text = (table: FakeTable) => table.kernel.get("demo/serve") ?? "";
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

  test("plans changed imports once, and unchanged ones not at all", async () => {
    await bench.started(SERVE, FOUR, importFact({ key: "demo/other", vips: ["241.0.0.11"] }));
    const { tell } = bench;
    tell.sliceChanged({ ...FOUR, active: false }, 1);
    tell.sliceChanged(FOUR, 1);
    tell.sliceChanged(SIX, 1);
    tell.importChanged({ ...SERVE, affinitySeconds: 60 }, 1);
    assert.deepEqual(bench.planned, [], "not before the turn of the event loop is over");
    await quiet();
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual(bench.four.log, ["apply +demo/serve"]);
  });

  test("removes a deleted import from the kernel, and reports it", async () => {
    await bench.started(SERVE);
    bench.tell.importRemoved("demo/serve", 1);
    await quiet();
    assert.equal(bench.plans.get("demo/serve"), undefined);
    assert.deepEqual(bench.four.log, ["apply -demo/serve"]);
    assert.deepEqual(bench.agent.keys(), []);
  });

  test("writes large changes of one namespace in parts, those of others with the first", async () => {
    bench = new AgentBench(undefined, LIMITS);
    await bench.started(SERVE, FOUR);
    const { tell } = bench;
    const change = (first: string) => {
      for (const [i, name] of ["a", "b", "c"].entries()) {
        const key: ObjectKey = `tenant/${name}`;
        tell.importChanged(importFact({ key, created: i, vips: [`241.0.1.${i}`] }), 1);
        const endpoints = Array.from({ length: 48 }, (_, n) => `${first}.0.${i}.${n}`);
        tell.sliceChanged(sliceFact({ key: `tenant/${name}-x`, importKey: key, endpoints }), 1);
      }
      tell.sliceChanged({ ...FOUR, active: first === "9" }, 1);
    };
    for (const first of ["8", "9"]) {
      change(first);
      await quiet();
      assert.deepEqual(bench.four.log.splice(0), [
        "apply +tenant/a +tenant/b +demo/serve",
        "apply +tenant/c",
      ]);
    }
    for (const name of ["a", "b", "c"]) tell.importRemoved(`tenant/${name}`, 2);
    await quiet();
    assert.deepEqual(bench.four.log, ["apply -tenant/a -tenant/b", "apply -tenant/c"]);
  });

  test("of several imports with a VIP at its start, serves the one that the kernel has rules for, and writes nothing", async () => {
    await bench.started(SERVE, FOUR);
    await bench.agent.stop();
    const next = bench.successor();
    await next.started(RIVAL, { ...SERVE, created: 2 }, FOUR);
    assert.deepEqual([...next.four.kernel], [...bench.four.kernel]);
    assert.equal(next.plans.get("demo/serve")?.reason, "programmed");
    const [vip] = next.plans.get("evil/old")?.vips ?? [];
    assert.deepEqual(vip, { address: "241.0.0.10", reason: "vip-conflict", heldBy: "demo/serve" });
    await next.agent.stop();
  });

  test("of several imports with a VIP at its start, serves none if the kernel has no rules, until an IPAddress names one", async () => {
    await bench.started(RIVAL, SERVE, FOUR);
    assert.equal(bench.plans.get("evil/old")?.reason, "vip-contested");
    assert.deepEqual([...bench.four.kernel], []);
    bench.tell.vipHeld("241.0.0.10", "demo/serve", 1);
    await quiet();
    assert.deepEqual([...bench.four.kernel.keys()], ["demo/serve"]);
    assert.equal(bench.plans.get("evil/old")?.reason, "vip-conflict");
  });

  test("leaves out endpoints of a namespace beyond its limit, and nothing of others", async () => {
    bench = new AgentBench(undefined, LIMITS);
    const endpoints = Array.from({ length: 90 }, (_, n) => `10.9.0.${n}`);
    const tenant = ["a", "b"].map((name, i) => {
      const key: ObjectKey = `tenant/${name}`;
      return importFact({ key, created: i, vips: [`241.0.1.${i}`] });
    });
    const slices = tenant.map(({ key }) =>
      sliceFact({ key: `${key}-x`, importKey: key, endpoints }),
    );
    await bench.started(...tenant, ...slices, SERVE, FOUR);
    const endpointsOf = (key: ObjectKey) => bench.plans.get(key)?.services[0]?.endpoints.length;
    assert.deepEqual([endpointsOf("tenant/a"), endpointsOf("tenant/b")], [72, 72]);
    assert.equal(bench.plans.get("tenant/b")?.limited?.reason, "namespace-limit");
    assert.equal(endpointsOf("demo/serve"), 1);
    bench.tell.importRemoved("tenant/a", 1);
    await quiet();
    assert.equal(endpointsOf("tenant/b"), 90);
  });

  test("programs no explicit VIP that a slice lists as an endpoint, with any backend", async () => {
    const explicit = importFact({ key: "demo/explicit", vips: ["198.51.100.7"] });
    const listing = sliceFact({ key: "demo/five", cluster: "c2", endpoints: ["198.51.100.7"] });
    await bench.started(SERVE, FOUR, listing, explicit);
    const [vip] = bench.plans.get("demo/explicit")?.vips ?? [];
    assert.deepEqual(vip, { address: "198.51.100.7", reason: "vip-in-use" });
    assert.ok(!bench.four.kernel.has("demo/explicit"));
  });

  test("continues with one family while the other fails", async () => {
    await bench.started(SERVE, FOUR, SIX);
    bench.six.faults.push("before", "before", "before");
    for (const address of ["10.1.0.2", "10.1.0.3"]) {
      const endpoints = endpointsOf("IPv4", [address]);
      bench.tell.sliceChanged({ ...FOUR, endpoints }, 1);
      const sixth = endpointsOf("IPv6", [`fd10:1::${address.at(-1)}`]);
      bench.tell.sliceChanged({ ...SIX, endpoints: sixth }, 1);
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

  test("reports the progress of each family", async () => {
    bench.agent.start();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: false });
    const release = bench.four.hold();
    for (const source of bench.sources) source.tell.listed();
    await quiet();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: false, stepSince: 0 });
    assert.deepEqual(bench.agent.families.get("IPv6"), { synced: true, inSyncAt: 0 });
    release();
    await quiet();
    assert.deepEqual(bench.agent.families.get("IPv4"), { synced: true, inSyncAt: 0 });
  });

  test("returns the present plan by name", async () => {
    await bench.started(SERVE, sliceFact({ key: "a/x", importKey: "a/orphan" }));
    assert.deepEqual(bench.agent.keys(), ["a/orphan", "demo/serve"]);
    assert.equal(bench.agent.plan("a/orphan")?.reason, "not-imported");
    assert.equal(bench.agent.plan("demo/none"), undefined);
    bench.tell.sliceChanged(FOUR, 1);
    assert.equal(bench.agent.plan("demo/serve")?.services[0]?.tier, "local");
  });

  test("reports problems of sources, also before they have listed", () => {
    bench.agent.start();
    const problem: Problem = { reason: "invalid-name", object: "X", field: "y", value: "z" };
    bench.tell.problems("X", [problem]);
    bench.tell.problems("X", []);
    assert.deepEqual(bench.problems, ["X 1", "X 0"]);
  });
});

describe("an agent that is stopped", () => {
  test("stops its sources, writes what is in flight and nothing more, and leaves the kernel", async () => {
    const bench = new AgentBench();
    await bench.started(SERVE);
    const release = bench.four.hold();
    bench.tell.sliceChanged(FOUR, 1);
    await quiet();
    const stopped = bench.agent.stop();
    bench.tell.importRemoved("demo/serve", 2);
    release();
    await stopped;
    await quiet();
    assert.ok(bench.sources.every((source) => source.stopped));
    assert.deepEqual(bench.planned, ["demo/serve"]);
    assert.deepEqual(bench.four.log, ["apply +demo/serve", "close"]);
    assert.match(bench.four.kernel.get("demo/serve") ?? "", /10\.1\.0\.1/);
  });

  test("opens nothing when its last source lists only then", async () => {
    const bench = new AgentBench();
    bench.agent.start();
    bench.tell.listed();
    const stopped = bench.agent.stop();
    bench.sources[1].tell.listed();
    await stopped;
    await quiet();
    assert.equal(bench.listedAt, undefined);
    assert.deepEqual(bench.four.log, ["close"]);
  });
});

describe("an agent whose node gets other ranges", () => {
  const OLD = ["241.0.0.0/8", "fd00:241::/108"];
  const NEW = ["242.0.0.0/8", "fd00:242::/108"];
  const node = (ranges: readonly string[]) => () => nodeFact({ clusterSetCidrs: ranges.map(cidr) });
  const held = ({ four, six }: AgentBench) => [[...four.kernel], [...six.kernel]];
  /** Checks of the first sync that fail on /readyz. */
  const failing = ({ agent: { families }, clock }: AgentBench) =>
    readiness({ listed: true, families }, clock.now()).flatMap(({ name, reason }) =>
      reason === undefined || !name.startsWith("first-sync") ? [] : `${name} ${reason}`,
    );
  let before: AgentBench;
  beforeEach(async () => {
    before = new AgentBench(node(OLD));
    await before.started(SERVE, FOUR, SIX);
    await before.agent.stop();
  });

  test("writes nothing, and is not ready, until VIPs are in it", async () => {
    const bench = before.successor(node(NEW));
    const pass = async () => {
      bench.clock.advance(5_000);
      await quiet();
    };
    await bench.started(SERVE, FOUR, SIX);
    for (let ms = 0; ms < 120_000; ms += 5_000) {
      assert.deepEqual(failing(bench), ["first-sync-IPv4 mass-loss", "first-sync-IPv6 mass-loss"]);
      await pass();
    }
    assert.deepEqual(held(bench), held(before));
    bench.tell.importChanged(importFact({ vips: ["242.0.0.10", "fd00:242::10"] }), 0);
    await quiet();
    await pass();
    assert.deepEqual(failing(bench), []);
    assert.match(JSON.stringify(held(bench)), /242\.0\.0\.10.*fd00:242::10/);
    await bench.agent.stop();
  });

  for (const ranges of [
    [...OLD, ...NEW],
    [...NEW, ...OLD],
  ]) {
    test(`is ready at once, with the same rules, with ${ranges.join()}`, async () => {
      const bench = before.successor(node(ranges));
      await bench.started(SERVE, FOUR, SIX);
      assert.deepEqual([failing(bench), held(bench)], [[], held(before)]);
      await bench.agent.stop();
    });
  }
});
