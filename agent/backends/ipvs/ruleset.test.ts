import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../../api/names.ts";
import { SCHEDULERS } from "../../../api/scheduler.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { diff } from "./diff.ts";
import type { GuardOptions } from "./guard.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { type DesiredServer, type KernelState, nothing } from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const IMPORTS = ["a/a", "a/b", "b/a"] as const;
const VIPS = ["241.0.0.1", "241.0.0.2", "1.2.3.4"];

/** Services of one import: UDP alone, so that nothing of the past may stay. */
const wish = fc
  .record({
    key: fc.constantFrom(...IMPORTS),
    port: fc.constantFrom(53, 54),
    vips: fc.subarray(VIPS, { minLength: 1 }),
    endpoints: fc.subarray([1, 2, 3]),
    affinity: fc.constantFrom(undefined, 60),
    wanted: fc.boolean(),
  })
  .map(({ key, port, vips, endpoints, affinity, wanted }): [ObjectKey, VirtualService[]] => {
    const service = virtualService({
      ...{ importKey: key, protocol: "UDP", port, vips },
      endpoints: endpoints.map((i) => ({ address: `10.0.0.${i}`, port })),
      ...(affinity !== undefined && { affinitySeconds: affinity }),
    });
    return [key, wanted ? [service] : []];
  });

/** Imports never share a VIP and port: the model has settled that. */
function settled(history: readonly [ObjectKey, VirtualService[]][]) {
  return history.map(([key, services]) => {
    const port = 50 + IMPORTS.findIndex((one) => one.startsWith(key)) * 10;
    return [key, services.map((one) => ({ ...one, port: port + (one.port % 2) }))] as const;
  });
}

function holding(apply: (state: KernelState, ruleset: IpvsRuleset) => void): KernelState {
  const state = nothing();
  apply(state, new IpvsRuleset("rr"));
  return state;
}

function settle(state: KernelState, ruleset: IpvsRuleset): void {
  finished(diff(state, finished(ruleset.take()), OPTIONS)).settle(state);
}

function desiredServers(ruleset: IpvsRuleset): DesiredServer[] {
  const servers = [...finished(ruleset.take()).services.values()];
  return servers.filter((server) => typeof server === "object");
}

describe("the desired state of IPVS", () => {
  test("after any history the kernel holds the same as with a newly started agent", () =>
    forAll([fc.array(wish, { maxLength: 12 })], (history) => {
      const steps = settled(history);
      const lived = holding((state, ruleset) => {
        for (const [key, services] of steps) {
          ruleset.set(key, services);
          settle(state, ruleset);
        }
        if (steps.length === 0) settle(state, ruleset);
      });
      const fresh = holding((state, ruleset) => {
        for (const [key, services] of new Map(steps)) ruleset.set(key, services);
        settle(state, ruleset);
      });
      assert.deepEqual(lived, fresh);
      const again = new IpvsRuleset("rr");
      for (const [key, services] of new Map(steps)) again.set(key, services);
      assert.equal(String(finished(diff(lived, finished(again.take()), OPTIONS))), "");
    }));

  test("a VIP that passes from one import to another is never deleted in between", () => {
    const ruleset = new IpvsRuleset("rr");
    const state = nothing();
    const service = virtualService({ importKey: "a/a" });
    ruleset.set("a/a", [service]);
    settle(state, ruleset);
    ruleset.set("b/b", [{ ...service, importKey: "b/b" }]);
    ruleset.set("a/a", []);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.deepEqual(String(tx).split("\n"), [
      "delete element ip csp-ipvs served { 241.0.0.10 . tcp . 80 }",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "b/b" }',
    ]);
  });

  test("schedulers by client fall back to another destination when theirs is drained", () => {
    const flags = SCHEDULERS.map((scheduler) => {
      const ruleset = new IpvsRuleset(scheduler);
      ruleset.set("demo/serve", [virtualService()]);
      return desiredServers(ruleset).map(({ terms }) => terms.flags);
    });
    assert.deepEqual(flags, [[0x20], [0x20], [0x28], [0x28], [0x20]]);
  });

  test("an import may name a scheduler of its own", () => {
    const ruleset = new IpvsRuleset("rr");
    ruleset.set("demo/serve", [virtualService({ scheduler: "lc" })]);
    const [server] = desiredServers(ruleset);
    assert.equal(server?.terms.scheduler, "lc");
  });
});
