import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelNftables, nftablesBackend } from "../../../test/doubles/model-nftables.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { branchTo } from "./extra-chains.ts";
import { SETS, SKELETON, WHOLE } from "./sets.ts";

const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
  affinity: "remembered",
} as const;

/** A kernel with one service of two endpoints, and the state of it. */
function programmed(affinitySeconds?: number, shares?: VirtualService["shares"]): ModelNftables {
  const kernel = new ModelNftables(OPTIONS);
  const backend = nftablesBackend(OPTIONS);
  const ruleset = backend.ruleset();
  const endpoints = ["10.1.0.11", "10.2.0.11"].map((address, i) => ({
    ...{ address, port: 8080, cluster: `c${i + 1}` },
  }));
  const service = virtualService({
    ...{ importKey: "demo/serve", portName: "http", port: 80, vips: ["241.0.0.10"] },
    ...{ tier: "local", endpoints, ...(affinitySeconds !== undefined && { affinitySeconds }) },
    ...(shares && { shares }),
  });
  ruleset.set("demo/serve", [service]);
  kernel.run(finished(backend.diff(new Map(), finished(ruleset.take()))));
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
    const believed = kernel.believed() ?? assert.fail();
    const drift = nftablesBackend(OPTIONS).compare(believed, kernel.read());
    assert.deepEqual(drift, [{ reason: "elements-changed", what: "TCP 241.0.0.10 80" }]);
  });
});

describe("what other programs do to the table is found by listing", () => {
  const CHANGED: readonly (readonly [what: string, change: (kernel: ModelNftables) => void])[] = [
    ["a rule that is deleted", ({ chains }) => chains.get("guard")?.rules.pop()],
    ["a rule that is inserted", ({ chains }) => chains.get("guard")?.rules.unshift("accept")],
    ["a rule that is written twice", ({ chains }) => repeat(chains.get("translate"))],
    ["a chain that is flushed", ({ chains }) => chains.set("pick-2", { rules: [] })],
    [
      "a chain that only one service needs, flushed",
      ({ chains }) => chains.set("share-3", { rules: [] }),
    ],
    ["a chain of another program", ({ chains }) => chains.set("mine", { rules: ["drop"] })],
    ["a map of verdicts that is flushed", ({ branches }) => branches.get("picks")?.clear()],
    ["one that is deleted", ({ branches }) => branches.delete("draws")],
    [
      "an element that leads elsewhere",
      ({ branches }) => branches.get("picks")?.set("0:2", "goto pick-1"),
    ],
    [
      "one by another number",
      ({ branches }) => branches.get("hashes")?.set("0:100", "jump hash-1"),
    ],
    ["one that is missing", ({ branches }) => branches.get("touches")?.delete("0:3c")],
    [
      "one to a chain that only one service needs, missing",
      ({ branches }) => branches.get("groups")?.clear(),
    ],
    ["a set that is deleted", ({ elements }) => elements.delete("choices")],
  ];
  for (const [what, change] of CHANGED)
    test(`${what}: the skeleton is not whole`, () => {
      const kernel = programmed(undefined, [
        { cluster: "c1", weight: 2 },
        { cluster: "c2", weight: 1 },
      ]);
      assert.equal(kernel.read().get(SKELETON)?.digest, WHOLE);
      const before = kernel.read();
      change(kernel);
      assert.notEqual(kernel.read().get(SKELETON)?.digest, WHOLE);
      const [first] = nftablesBackend(OPTIONS).compare(before, kernel.read());
      assert.equal(first?.reason, "table-changed");
    });

  for (const set of Object.keys(SETS))
    test(`elements of ${set} that are flushed, and one that is added`, () => {
      const kernel = programmed(60);
      const before = kernel.read();
      const [key = ""] = sets(kernel, "services").keys();
      const fields = set === "endpoints" || set === "choices" ? `${key} 77` : key;
      const explicit = set === "explicit";
      if (!explicit) sets(kernel, set).clear();
      const compare = () => nftablesBackend(OPTIONS).compare(before, kernel.read());
      if (!explicit) assert.equal(compare()[0]?.what, "TCP 241.0.0.10 80");
      const added = explicit ? "c6336407" : fields;
      sets(kernel, set).set(added, { key: added, value: "0a060606 80", comment: "" });
      assert.equal(compare()[0]?.reason, explicit ? "table-changed" : "elements-changed");
    });

  test("a table that is deleted", () => {
    const before = programmed().read();
    const [first] = nftablesBackend(OPTIONS).compare(before, new ModelNftables(OPTIONS).read());
    assert.equal(first?.reason, "table-missing");
  });
});

function repeat(chain: { rules: string[] } | undefined): void {
  chain?.rules.push(...chain.rules.slice(0, 1));
}

test("the element that leads to a chain follows from the name of the chain", () => {
  const branches = [
    { map: "picks", number: 65, verdict: "goto pick-65" },
    { map: "picks", number: 2 ** 30 + 7, verdict: "goto share-7" },
    { map: "hashes", number: 3, verdict: "jump hash-3" },
    { map: "draws", number: 2 ** 30 + 7, verdict: "jump draw-share-7" },
    { map: "touches", number: 9, verdict: "jump touch-9" },
    { map: "groups", number: 3 * 2 ** 20 + 2, verdict: "goto pick-2-of-3" },
    { map: "hash-groups", number: 3 * 2 ** 20 + 2, verdict: "goto hash-2-of-3" },
  ];
  for (const one of branches) assert.deepEqual(branchTo(one.verdict.split(" ")[1] ?? ""), one);
  for (const chain of ["known", "guard", "sent-1-of-2"]) assert.equal(branchTo(chain), undefined);
});
