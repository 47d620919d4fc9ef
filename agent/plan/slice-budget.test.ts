import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { objectKey } from "../../api/names.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { FLAGS } from "../config/flags.ts";
import type { ImportFact, SliceFact } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import { NO_LIMITS } from "../model/rule-budget.ts";
import { planImport } from "./plan.ts";

const PORTS = Array.from({ length: 10 }, (_, i) => ({
  name: `p${i}`,
  protocol: "TCP" as const,
  port: 80 + i,
}));
const FULL = 100;
/** Full slices of all ports that fit, and the limit at which they do. */
const FITTING = 4;
const LIMIT = PORTS.length * (1 + FITTING * (1 + FULL));

function slice(n: number, cluster: string, endpoints = FULL): SliceFact {
  const addresses = Array.from({ length: endpoints }, (_, i) => `10.${n}.${i >> 8}.${i & 255}`);
  const key = objectKey("demo", `s${100000 + n}`);
  return sliceFact({ key, cluster, region: cluster, ports: PORTS, endpoints: addresses });
}

function planned(
  slices: readonly SliceFact[],
  change: Parameters<typeof importFact>[0] = {},
  maxRulesPerImport = LIMIT,
) {
  const model = new Model(undefined, { ...NO_LIMITS, maxRulesPerImport });
  model.setImport(importFact({ ports: PORTS, ...change }), 0);
  for (const one of slices) model.setSlice(one, 0);
  const view = model.view("demo/serve");
  assert.ok(view);
  return planImport(view, nodeFact({ cluster: "c1", region: "c1" }));
}

/** Slices that are left out whole, and why. */
function leftOut(slices: readonly SliceFact[]): string[] {
  return planned(slices)
    .excluded.filter(({ servicePort, address }) => servicePort === undefined && !address)
    .map(({ slice: key, reason }) => `${key} ${reason}`);
}

/** Addresses of the first port. */
function addressesOf({ services }: ReturnType<typeof planned>): string[] {
  return (services[0]?.endpoints ?? []).map(({ address }) => address);
}

describe("of an import that costs more than its limit", () => {
  const far = Array.from({ length: FITTING }, (_, i) => slice(i, "c9"));
  const last = `demo/s${100000 + FITTING - 1}`;

  test("no slice is left out up to the limit", () => {
    assert.deepEqual(leftOut(far), []);
    assert.equal(planned(far).limited, undefined);
    assert.equal(planned(far).services[0]?.endpoints.length, FITTING * FULL);
  });

  test("the farthest slices are left out, in any order of arrival", () => {
    const near = slice(99, "c1", FULL);
    assert.deepEqual(leftOut([...far, near]), [`${last} import-limit`]);
    assert.deepEqual(leftOut([near, ...far.toReversed()]), [`${last} import-limit`]);
    assert.deepEqual(planned([...far, near]).limited, { reason: "import-limit", slices: 1 });
    assert.deepEqual(
      planned([...far, near]).services.map(({ tier, endpoints }) => [tier, endpoints.length]),
      PORTS.map(() => ["local", FULL]),
    );
  });

  test("of the first slice that does not fit, the first endpoints of the slice are used", () => {
    const near = { ...slice(99, "c1", 2), active: false };
    const more = slice(98, "c9", 1);
    const order = [...slice(FITTING - 1, "c9").endpoints].map(({ address }) => address);
    const ways = [
      [...far, near, more],
      [more, near, ...far.toReversed()],
    ].map((slices) => planned(slices, {}, LIMIT - 3 * PORTS.length));
    for (const plan of ways) {
      assert.deepEqual(plan.limited, { reason: "import-limit", slices: 3 });
      assert.deepEqual(
        plan.excluded.filter(({ servicePort }) => servicePort === undefined),
        [
          ...order.slice(-3).map((address) => ({ slice: last, address })),
          { slice: "demo/s100098" },
          { slice: "demo/s100099" },
        ].map((one) => ({
          ...one,
          reason: "import-limit",
          cluster: one.slice.endsWith("99") ? "c1" : "c9",
        })),
      );
      assert.equal(addressesOf(plan).length, FITTING * FULL - 3);
      assert.ok(order.slice(0, -3).every((address) => addressesOf(plan).includes(address)));
    }
  });

  for (const [name, change, ports, endpoints, fitting] of [
    ["a full slice of thirty ports", {}, 30, 1000, 831],
    ["a slice of a hundred with affinity", { affinitySeconds: 60 }, 26, 100, 95],
  ] as const) {
    test(`${name} is used as far as it fits the default limit`, () => {
      const wide = Array.from({ length: ports }, (_, i) => ({
        ...{ name: `p${i}`, protocol: "TCP" as const, port: 1 + i },
      }));
      const only = { ...slice(1, "c9", endpoints), ports: wide };
      const limit = Number(FLAGS.maxRulesPerImport.default);
      const plan = planned([only], { ports: wide, ...change }, limit);
      assert.deepEqual(
        plan.services.map((service) => service.endpoints.length),
        wide.map(() => fitting),
      );
      const left = plan.excluded.filter(({ reason }) => reason === "import-limit");
      assert.equal(left.length, Math.min(100, endpoints - fitting));
    });
  }

  for (const [name, greedy] of [
    ["sorts first", "c0"],
    ["sorts last", "c9"],
  ] as const) {
    test(`a cluster of the same tier whose name ${name} loses its own endpoints only`, () => {
      const ofGreedy = far.map((one, i) => ({
        ...one,
        key: objectKey("demo", `serve.${greedy}.${i}`),
        cluster: greedy,
      }));
      const small = { ...slice(50, "c5", 5), key: objectKey("demo", "serve.c5.x") };
      const near = { ...slice(60, "c1", 7), key: objectKey("demo", "serve.c1.x") };
      const plan = planned([...ofGreedy, small, near], { selectors: [] });
      const counts = new Map<string, number>();
      for (const { cluster = "" } of plan.services[0]?.endpoints ?? [])
        counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
      // Two more slices cost one endpoint each, besides their endpoints.
      const left = FITTING * FULL - 5 - 7 - 2;
      assert.deepEqual(Object.fromEntries(counts), { c1: 7, c5: 5, [greedy]: left });
      assert.deepEqual(plan.limited, { reason: "import-limit", slices: 1 });
    });
  }

  test("clusters that are more than the endpoints that fit have one each, as long as there is room", () => {
    const all = Array.from({ length: 5 }, (_, i) => slice(i, `c${i + 2}`, 9));
    const room = PORTS.length * (1 + 3 * 2);
    assert.deepEqual(
      planned(all, {}, room).services.map(({ endpoints }) => endpoints.length),
      PORTS.map(() => 3),
    );
  });

  test("whatever slices there are, a cluster below an equal share of its tier loses nothing, and the limit is kept", async () => {
    const one = fc.record({ cluster: fc.integer({ min: 1, max: 4 }), endpoints: fc.nat(12) });
    await forAll([fc.array(one, { maxLength: 8 }), fc.nat(400)], (list, more) => {
      const slices = list.map(({ cluster, endpoints }, i) => slice(i, `c${cluster}`, endpoints));
      const costs = new Map<string, number>();
      for (const { cluster = "", endpoints } of slices)
        costs.set(cluster, (costs.get(cluster) ?? 0) + PORTS.length * (1 + endpoints.length));
      const limit = PORTS.length * 3 + more;
      // All clusters are one tier.
      const plan = planned(slices, { selectors: [] }, limit);
      const used = plan.services[0]?.endpoints ?? [];
      assert.ok(PORTS.length * (1 + used.length) <= limit);
      for (const [cluster, cost] of costs) {
        if (cost > (limit - PORTS.length) / costs.size) continue;
        const asked = slices.filter((one) => one.cluster === cluster);
        assert.equal(
          used.filter((one) => one.cluster === cluster).length,
          asked.reduce((sum, { endpoints }) => sum + endpoints.length, 0),
          cluster,
        );
      }
    });
  });

  test("slices that no port can use are left out first", () => {
    const inactive = { ...slice(99, "c1"), active: false };
    assert.deepEqual(leftOut([inactive, ...far]), ["demo/s100099 import-limit"]);
  });

  test("two VIPs of a family count twice", () => {
    const { limited, services } = planned(far, { vips: ["241.0.0.10", "241.0.0.11"] });
    assert.equal(limited?.slices, FITTING / 2);
    assert.equal(services[0]?.endpoints.length, (FITTING / 2) * FULL);
  });

  test("session affinity counts ten times", () => {
    const small = Array.from({ length: FITTING + 1 }, (_, i) => slice(i, "c9", FULL / 10));
    assert.equal(planned(small).limited, undefined);
    const { limited, services } = planned(small, { affinitySeconds: 60 });
    assert.equal(limited?.slices, 1);
    assert.equal(services[0]?.endpoints.length, (FITTING * FULL) / 10);
  });

  test("each unit of the weights of clusters counts once for each VIP and port", () => {
    const units = 40;
    const clusterWeights = new Map([
      ["c1", units - 1],
      ["c2", 1],
    ]);
    const slices = Array.from({ length: FITTING }, (_, i) => slice(i, "c1"));
    const more = LIMIT + units * PORTS.length;
    assert.equal(planned(slices, { clusterWeights }, more).limited, undefined);
    assert.equal(planned(slices, { clusterWeights }, more - 1).limited?.reason, "import-limit");
  });

  test("an import whose ports alone cost too much has no rules", () => {
    const { reason, services, limited } = planned(far, {}, PORTS.length - 1);
    assert.deepEqual({ reason, services }, { reason: "import-limit", services: [] });
    assert.deepEqual(limited, { reason: "import-limit", slices: FITTING });
  });

  test("empty slices count once for each port, and no plan names more than a hundred that are left out", () => {
    const ports = Array.from({ length: 1000 }, (_, i) => ({ ...PORTS[0], port: 1 + i }) as const);
    const wide = ports.map((port, i) => ({ ...port, name: `p${i}`, protocol: "TCP" as const }));
    const empty = Array.from({ length: 5000 }, (_, i) => slice(i, "c9", 0));
    const plan = planned(empty, { ports: wide }, 25_000);
    assert.deepEqual(plan.limited, { reason: "import-limit", slices: 4976 });
    assert.ok(plan.excluded.length < 25_000, `${plan.excluded.length}`);
    assert.equal(plan.excluded.filter(({ reason }) => reason === "import-limit").length, 100);
  });

  test("no connection is reset if not all slices are used whole, for the rest may list its endpoint", () => {
    const reset = { onEndpointDeath: "reset" } satisfies Partial<ImportFact>;
    assert.equal(planned(far, reset).services[0]?.keeps?.length, FITTING * FULL);
    const more = planned([...far, slice(99, "c9")], reset);
    assert.deepEqual(
      more.services.map(({ keeps }) => keeps),
      PORTS.map(() => undefined),
    );
    const inactive = { ...slice(99, "c9"), active: false };
    assert.equal(planned([...far, inactive], reset).services[0]?.keeps, undefined);
    // The source left out its endpoints.
    const omitted = { ...slice(99, "c9", 0), omitted: true } as const;
    const without = planned([slice(1, "c9"), omitted], reset);
    assert.equal(without.services[0]?.keeps, undefined);
    assert.ok(without.excluded.some(({ reason }) => reason === "too-many-endpoints"));
    const first = planned([{ ...slice(1, "c9", 3), omitted: true }], reset);
    assert.equal(first.services[0]?.endpoints.length, 3);
    assert.equal(first.services[0]?.keeps, undefined);
    const part = planned(far, reset, LIMIT - 1);
    assert.equal(addressesOf(part).length, FITTING * FULL - 1);
    assert.equal(part.services[0]?.keeps, undefined);
  });
});
