import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Model } from "../../agent/model/model.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { believedOf, FakeIptablesBackend } from "../fake/backend.ts";
import { applyEvent } from "../support/history.ts";
import { anyHistory, type Event, nodeFact } from "../support/worlds.ts";

const node = nodeFact();

/** Writes a history, step by step, and fails at the first transaction that the kernel refuses. */
async function write(history: readonly (readonly Event[])[], family: Family): Promise<void> {
  const clusterSetCidr = node.clusterSetCidrs.find((cidr) => cidr.family === family);
  assert.ok(clusterSetCidr);
  const masquerade = { mode: "off-cluster", podCidrs: node.podCidrs } as const;
  const backend = new FakeIptablesBackend({ family, clusterSetCidr, masquerade });
  const model = new Model();
  const ruleset = backend.ruleset();
  const believed = backend.nothing();
  for (const events of history) {
    for (const event of events) applyEvent(model, event);
    for (const key of model.takeDirty().keys()) {
      const view = model.view(key);
      const services = view === undefined ? [] : planImport(view, node).services;
      ruleset.set(
        key,
        services.filter((service) => service.family === family),
      );
    }
    await backend.apply(backend.diff(believed, ruleset.take()), believed);
    const { chains, jumps } = believedOf(backend.kernel);
    assert.deepEqual(chains, believed.chains);
    assert.deepEqual([...jumps].sort(), [...believed.jumps].sort());
  }
}

// A refusal costs no more than a complete pass, so nobody would notice it but for the time that it takes.
for (const family of FAMILIES) {
  test(`${family}: the kernel takes every transaction of every history, and then holds what is believed`, async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, (history) => write(history, family)),
      { numRuns: 50 },
    );
  });
}
