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
import { branchTo, SHARED_MAPS } from "./extra-chains.ts";
import { withGaps } from "./read.ts";
import { SETS } from "./sets.ts";
import { type KernelState, nothing } from "./state.ts";

const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
  affinity: "remembered",
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
const FOUND = {
  picks: { 1: "goto pick-1", 2: "goto pick-2" },
  hashes: { 3: "jump hash-3" },
  timeouts: {},
};
type Verdicts = Readonly<Record<string, Readonly<Record<number, string>> | undefined>>;

/** True if the table with these verdicts in its maps, besides the static sets, is taken for whole. */
function isWhole(verdicts: Verdicts): boolean {
  const empty = Object.fromEntries(Object.keys(SETS).map((name) => [name, {}]));
  const all = new Map(Object.entries<Verdicts[string]>({ ...empty, ...verdicts }));
  const elementsOf = (set: string) => {
    const found = all.get(set);
    return found && Object.entries(found).map(([key, value]) => ({ key, value, comment: "" }));
  };
  return withGaps(RULES, elementsOf) === RULES;
}

test("a table has one element in a map of verdicts for each chain that it leads to, but for unused ones", () => {
  assert.ok(isWhole(FOUND));
  assert.equal(isWhole({ ...FOUND, picks: {} }), false, "flushed");
  assert.equal(
    isWhole({ ...FOUND, picks: { ...FOUND.picks, 3: "goto pick-2" } }),
    false,
    "one more",
  );
  assert.equal(isWhole({ ...FOUND, timeouts: { 9: "goto sticky-9" } }), false);
});

test("an element of a map of verdicts that leads elsewhere, or by another number, makes a table incomplete", () => {
  for (const verdict of ["goto pick-1", "jump pick-2", "other"])
    assert.equal(isWhole({ ...FOUND, picks: { 1: "goto pick-1", 2: verdict } }), false, verdict);
  assert.equal(isWhole({ ...FOUND, picks: { 1: "goto pick-1", 3: "goto pick-2" } }), false);
});

test("the element that leads to a chain follows from the name of the chain", () => {
  const branches = [
    { map: "picks", number: 65, verdict: "goto pick-65" },
    { map: "picks", number: 2 ** 30 + 7, verdict: "goto share-7" },
    { map: "hashes", number: 3, verdict: "jump hash-3" },
    { map: "draws", number: 2 ** 30 + 7, verdict: "jump draw-share-7" },
    { map: "timeouts", number: 9, verdict: "jump touch-9" },
    { map: "groups", number: 3 * 2 ** 20 + 2, verdict: "goto pick-2-of-3" },
    { map: "hash-groups", number: 3 * 2 ** 20 + 2, verdict: "goto hash-2-of-3" },
  ];
  for (const one of branches) assert.deepEqual(branchTo(one.verdict.split(" ")[1] ?? ""), one);
  for (const chain of ["known", "guard", "sent-1-of-2"]) assert.equal(branchTo(chain), undefined);
});

test("a set that was deleted makes a table incomplete; maps that only some chains need may be missing", () => {
  assert.equal(isWhole({ ...FOUND, choices: undefined }), false);
  assert.equal(isWhole({ ...FOUND, hashes: undefined }), false);
  assert.equal(isWhole({ ...FOUND, groups: { 1: "goto pick-1-of-1" } }), false);
  const shared = Object.fromEntries(SHARED_MAPS.map((map) => [map, {}]));
  assert.ok(isWhole({ ...FOUND, ...shared }));
  assert.equal(
    isWhole({ ...FOUND, ...shared, groups: undefined }),
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
