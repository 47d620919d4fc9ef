import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { cidr } from "../../test/support/worlds.ts";
import type { KubeProxySight } from "../backends/ipvs/kube-proxy.ts";
import { KubeProxyWatch } from "./kube-proxy-watch.ts";

const OURS = "241.0.0.0/8";
const SILENT: KubeProxySight = { device: true };
const LEAVES_IT: KubeProxySight = { mode: "ipvs", device: true, configz: configz([OURS]) };
const DELETES: KubeProxySight = { mode: "ipvs", device: true, configz: configz([]) };

function configz(excluded: readonly string[]): string {
  return JSON.stringify({ "kubeproxy.config.k8s.io": { IPVS: { ExcludeCIDRs: excluded } } });
}

/** What is said after as many looks, one sight each. */
async function objections(sights: readonly KubeProxySight[], excluded: readonly string[] = []) {
  const clock = new FakeClock();
  const said: string[] = [];
  const rest = [...sights];
  const watch = new KubeProxyWatch({
    look: async () => rest.shift() ?? assert.fail("looked once more"),
    ...{ ranges: [cidr(OURS)], excluded: excluded.map(cidr), clock },
    objected: (objection) => said.push(objection),
  });
  watch.start();
  for (const _ of sights) {
    clock.advance(15_000);
    await turn();
  }
  watch.stop();
  clock.advance(60_000);
  assert.deepEqual(rest, []);
  return said;
}

describe("a kube-proxy in ipvs mode that comes after the agent", () => {
  test("is objected to once it has said twice that it does not leave our range alone", async () => {
    assert.deepEqual(await objections([{ device: false }, DELETES]), []);
    const [said = "", ...more] = await objections([{ device: false }, DELETES, DELETES]);
    assert.match(said, /excludeCIDRs: \["241\.0\.0\.0\/8"\]/);
    assert.deepEqual(more, []);
  });

  test("tells nothing while it does not answer", async () => {
    assert.deepEqual(await objections([LEAVES_IT, SILENT, SILENT, SILENT, LEAVES_IT]), []);
    assert.deepEqual(await objections([DELETES, SILENT, DELETES]), []);
  });

  test("may have a page missing once", async () => {
    const partly = { mode: "ipvs", device: true };
    assert.deepEqual(await objections([LEAVES_IT, partly, LEAVES_IT, partly, LEAVES_IT]), []);
  });

  test("is trusted where the operator says so", async () => {
    assert.deepEqual(await objections([DELETES, DELETES, DELETES], [OURS]), []);
  });
});
