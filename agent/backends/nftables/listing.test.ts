import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelNftables } from "../../../test/doubles/model-nftables.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { elementLines } from "../nft/elements.ts";
import { compare, NftablesRuleset } from "./backend.ts";
import { diff } from "./diff.ts";
import { SHARED_MAPS } from "./extra-chains.ts";
import { withGaps } from "./read.ts";
import { SETS } from "./sets.ts";
import { type KernelState, nothing } from "./state.ts";

const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
  remembers: true,
} as const;

/** A kernel with one service of two endpoints, and the state of it. */
function programmed(affinitySeconds?: number, shares?: VirtualService["shares"]): ModelNftables {
  const kernel = new ModelNftables();
  const ruleset = new NftablesRuleset();
  const endpoints = ["10.1.0.11", "10.2.0.11"].map((address, i) => ({
    ...{ address, port: 8080, cluster: `c${i + 1}` },
  }));
  const service = virtualService({
    ...{ importKey: "demo/serve", portName: "http", port: 80, vips: ["241.0.0.10"] },
    ...{ tier: "local", endpoints, ...(affinitySeconds !== undefined && { affinitySeconds }) },
    ...(shares && { shares }),
  });
  ruleset.set("demo/serve", [service]);
  kernel.run(finished(diff(nothing(), finished(ruleset.take()), OPTIONS)));
  return kernel;
}

const sets = (kernel: ModelNftables, name: string) =>
  kernel.elements.get(name) ?? assert.fail(name);

describe("endpoints that are not read", () => {
  const SHARES = [
    { cluster: "c1", weight: 2 },
    { cluster: "c2", weight: 1 },
  ];
  for (const seconds of [undefined, 60]) {
    const what = seconds === undefined ? "without" : "with";
    test(`are believed as they are with shares, ${what} affinity`, () => {
      const kernel = programmed(seconds, SHARES);
      assert.deepEqual(kernel.believed(), kernel.read());
    });

    test(`are not believed if a unit of weight is missing or leads nowhere, ${what} affinity`, () => {
      for (const change of [undefined, { value: "7" }, { value: `${2 ** 20 * 3}` }]) {
        const kernel = programmed(seconds, SHARES);
        const [first] = sets(kernel, "choices").values();
        assert.ok(first);
        if (change === undefined) sets(kernel, "choices").delete(first.key);
        else sets(kernel, "choices").set(first.key, { ...first, ...change });
        assert.equal(kernel.believed(), undefined);
      }
    });
  }

  test("are not believed of a service whose comment has no digest, or whose number of slots no agent writes", () => {
    for (const change of [{ comment: "demo/serve:http local" }, { value: "4000000000" }]) {
      const kernel = programmed();
      const services = sets(kernel, "services");
      for (const one of services.values()) services.set(one.key, { ...one, ...change });
      assert.equal(kernel.believed(), undefined);
    }
  });

  test("are not believed if a choice of a service with affinity is missing, or the service itself", () => {
    for (const set of ["choices", "services"]) {
      const kernel = programmed(60);
      const [first = ""] = sets(kernel, set).keys();
      sets(kernel, set).delete(first);
      assert.equal(kernel.believed(), undefined, set);
    }
  });

  test("that another program has changed are found by a complete read", () => {
    const kernel = programmed();
    const endpoints = sets(kernel, "endpoints");
    for (const one of endpoints.values())
      endpoints.set(one.key, { ...one, value: "0a060606 8080" });
    const believed: KernelState = kernel.believed() ?? assert.fail();
    const drift = compare(believed, kernel.read(), "IPv4");
    assert.deepEqual(drift, [{ reason: "elements-changed", what: "TCP 241.0.0.10 80" }]);
  });
});

const RULES = [
  "guard 1 a",
  "pick-1 1 b",
  "pick-2 1 c",
  "pick-2 2 c",
  "hash-3 1 d",
  "sticky-9 1 unused",
];
const SIZES = { picks: 2, hashes: 1, timeouts: 0 };

/** True if the table with these sizes of sets, besides the static ones, is taken for whole. */
function isWhole(sizes: Readonly<Record<string, number | undefined>>): boolean {
  const all = new Map(
    Object.entries({ ...Object.fromEntries(Object.keys(SETS).map((name) => [name, 0])), ...sizes }),
  );
  return withGaps(RULES, (set) => all.get(set)) === RULES;
}

test("a table has one element in a map of verdicts for each chain that it leads to, but for unused ones", () => {
  assert.ok(isWhole(SIZES));
  assert.equal(isWhole({ ...SIZES, picks: 0 }), false, "flushed");
  assert.equal(isWhole({ ...SIZES, picks: 3 }), false, "one more");
  assert.equal(isWhole({ ...SIZES, timeouts: 1 }), false);
});

test("a set that was deleted makes a table incomplete; maps that only some chains need may be missing", () => {
  assert.equal(isWhole({ ...SIZES, choices: undefined }), false);
  assert.equal(isWhole({ ...SIZES, hashes: undefined }), false);
  assert.equal(isWhole({ ...SIZES, groups: 1 }), false);
  const shared = Object.fromEntries(SHARED_MAPS.map((map) => [map, 0]));
  assert.ok(isWhole({ ...SIZES, ...shared }));
  assert.equal(
    isWhole({ ...SIZES, ...shared, groups: undefined }),
    false,
    "one of them was deleted",
  );
});

test("without a table nothing is missing", () => {
  assert.deepEqual(
    withGaps([], () => undefined),
    [],
  );
});

test("a line has at most 500 elements", () => {
  const many = new Set(Array.from({ length: 1001 }, (_, i) => `${i}`));
  const lines = elementLines("ip t", "s", new Set<string>(), many, (key: string) => key);
  assert.deepEqual(
    lines.map((line) => line.split(",").length),
    [500, 500, 1],
  );
});
