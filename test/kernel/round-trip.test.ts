import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import { removeOwn } from "../../agent/backends/iptables/remove.ts";
import { Model } from "../../agent/model/model.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { FAMILIES } from "../../api/address.ts";
import { Lab } from "../lab/lab.ts";
import { applyEvent } from "../support/history.ts";
import { anyHistory, nodeFact } from "../support/worlds.ts";

const SPEC = { clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] };

for (const flavour of ["nft", "legacy"] as const) {
  describe(`iptables, ${flavour} flavour, in the kernel`, () => {
    let lab: Lab;
    before(async () => {
      lab = await Lab.create(SPEC);
    });
    after(() => lab.remove());

    test("what is read back is what was rendered, whatever the history", async () => {
      const within = lab.node("c1", "n1").within;
      for (const family of FAMILIES) {
        const node = nodeFact();
        const clusterSetCidr = node.clusterSetCidrs.find((c) => c.family === family);
        assert.ok(clusterSetCidr);
        const backend = new IptablesBackend({
          family,
          clusterSetCidr,
          masquerade: { mode: "off-cluster", podCidrs: node.podCidrs },
          flavour,
          within,
          onRespawn: () => assert.fail("iptables-restore refused what was rendered"),
        });
        await fc.assert(
          fc.asyncProperty(anyHistory, async (history) => {
            const model = new Model();
            const believed = await backend.read();
            for (const events of history) for (const event of events) applyEvent(model, event);
            const ruleset = backend.ruleset();
            for (const key of model.keys()) {
              const view = model.view(key);
              assert.ok(view);
              const { services } = planImport(view, node);
              ruleset.set(
                key,
                services.filter((s) => s.family === family),
              );
            }
            const changes = ruleset.take();
            const tx = backend.diff(believed, changes);
            if (!tx.empty) await backend.apply(tx, believed);
            const again = backend.diff(await backend.read(), changes);
            assert.equal(again.toString(), "");
          }),
          { numRuns: 15 },
        );
        const options = { first: family === "IPv4" ? "dnat" : "guard", within } as const;
        assert.ok((await removeOwn(flavour, family, options)) > 0);
        assert.equal(await removeOwn(flavour, family, options), 0, "nothing is left to remove");
        const left = await lab.node("c1", "n1").exec([...backendSave(flavour, family)]);
        assert.doesNotMatch(left, /CSP-/);
        await backend.close();
      }
    });
  });
}

function backendSave(flavour: string, family: string): string[] {
  return [`${family === "IPv4" ? "iptables" : "ip6tables"}-${flavour}-save`];
}
