import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diff } from "../../agent/backends/iptables/diff.ts";
import { IptablesRuleset } from "../../agent/backends/iptables/ruleset.ts";
import type { Believed, Changes } from "../../agent/backends/iptables/tables.ts";
import { Model } from "../../agent/model/model.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { applyEvent } from "../support/history.ts";
import { anyHistory, type Event, nodeFact } from "../support/worlds.ts";

const node = nodeFact();

function newRuleset(family: Family): IptablesRuleset {
  const clusterSetCidr = node.clusterSetCidrs.find((c) => c.family === family);
  assert.ok(clusterSetCidr);
  const masquerade = { mode: "remote", podCidrs: node.podCidrs } as const;
  return new IptablesRuleset({ family, clusterSetCidr, masquerade });
}

function setImport(
  ruleset: IptablesRuleset,
  model: Model,
  key: `${string}/${string}`,
  family: Family,
) {
  const view = model.view(key);
  const services = view === undefined ? [] : planImport(view, node).services;
  ruleset.set(
    key,
    services.filter((service) => service.family === family),
  );
}

/** What the kernel of one family would hold after all of a model were rendered at once, and nothing before. */
function fromScratch(model: Model, family: Family): Believed {
  const believed: Believed = { chains: new Map(), jumps: [] };
  diff(believed, complete(model, family)).settle(believed);
  return believed;
}

/** What a newly started agent wants. */
function complete(model: Model, family: Family): Changes {
  const ruleset = newRuleset(family);
  for (const key of model.keys()) setImport(ruleset, model, key, family);
  return ruleset.take();
}

function sorted(believed: Believed) {
  return { chains: believed.chains, jumps: [...believed.jumps].sort() };
}

/** Replays a history change by change, and after every step compares with a fresh start. */
function replay(history: readonly (readonly Event[])[], family: Family): void {
  const model = new Model();
  const ruleset = newRuleset(family);
  const believed: Believed = { chains: new Map(), jumps: [] };
  diff(believed, ruleset.take()).settle(believed);
  for (const events of history) {
    for (const event of events) applyEvent(model, event);
    for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
    const changes = ruleset.take();
    diff(believed, changes).settle(believed);
    assert.deepEqual(sorted(believed), sorted(fromScratch(model, family)));
    assert.equal(diff(believed, changes).toString(), "", "the same changes again are none");
    assert.equal(diff(believed, ruleset.take()).toString(), "", "no change is no change");
    assert.equal(
      diff(believed, complete(model, family)).toString(),
      "",
      "a restart writes nothing",
    );
  }
}

for (const family of FAMILIES) {
  test(`${family}: every history, step by step, gives what a fresh start gives`, () => {
    fc.assert(
      fc.property(anyHistory, (history) => replay(history, family)),
      { numRuns: 60 },
    );
  });

  test(`${family}: a history backwards, squashed, doubled or with gaps gives what a fresh start gives`, () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        replay([...history].reverse(), family);
        replay([history.flat()], family);
        replay(
          history.flatMap((events) => [events, events]),
          family,
        );
        replay(
          history.flatMap((events) => events.map((event) => [event])),
          family,
        );
      }),
      { numRuns: 25 },
    );
  });
}

test("an import with a VIP, an endpoint and a port has the same rules wherever it stands in a history", () => {
  fc.assert(
    fc.property(anyHistory, anyHistory, (before, after) => {
      const model = new Model();
      for (const event of [...before, ...after].flat()) applyEvent(model, event);
      const other = new Model();
      const last = new Map<string, Event>();
      for (const event of [...before, ...after].flat()) {
        const key = event.kind.startsWith("import")
          ? `import ${"fact" in event ? event.fact.key : event.key}`
          : `slice ${"fact" in event ? event.fact.key : event.key}`;
        last.set(key, event);
      }
      for (const event of [...last.values()].reverse()) applyEvent(other, event);
      assert.deepEqual(sorted(fromScratch(model, "IPv4")), sorted(fromScratch(other, "IPv4")));
    }),
  );
});
