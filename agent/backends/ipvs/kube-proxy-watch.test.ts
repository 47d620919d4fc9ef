import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { cidr } from "../../../test/generators/facts.ts";
import type { KubeProxyReport } from "./kube-proxy.ts";
import { watchKubeProxy } from "./kube-proxy-watch.ts";

const OURS = "241.0.0.0/8";
const SILENT: KubeProxyReport = { device: true };
const LEAVES_IT: KubeProxyReport = { mode: "ipvs", device: true, configz: configz([OURS]) };
const DELETES: KubeProxyReport = { mode: "ipvs", device: true, configz: configz([]) };

function configz(excluded: readonly string[]): string {
  return JSON.stringify({ "kubeproxy.config.k8s.io": { IPVS: { ExcludeCIDRs: excluded } } });
}

/** The objections after one check for each report. */
async function objections(reports: readonly KubeProxyReport[], excluded: readonly string[] = []) {
  const clock = new FakeClock();
  const said: string[] = [];
  const rest = [...reports];
  const read = async () => rest.shift() ?? assert.fail("read once more");
  const config = { clusterSetCidrs: [cidr(OURS)], kubeProxyExcludeCidrs: excluded.map(cidr) };
  const stop = watchKubeProxy(config, read, clock, (objection) => said.push(objection));
  for (const _ of reports) {
    clock.advance(15_000);
    await turn();
  }
  stop();
  clock.advance(60_000);
  assert.deepEqual(rest, []);
  return said;
}

describe("a kube-proxy in ipvs mode that starts after the agent", () => {
  test("is an objection once it reports twice in a row that it does not exclude our range", async () => {
    assert.deepEqual(await objections([{ device: false }, DELETES]), []);
    const [said = "", ...more] = await objections([{ device: false }, DELETES, DELETES]);
    assert.match(said, /excludeCIDRs: \["241\.0\.0\.0\/8"\]/);
    assert.deepEqual(more, []);
  });

  test("does not count while it does not respond", async () => {
    assert.deepEqual(await objections([LEAVES_IT, SILENT, SILENT, SILENT, LEAVES_IT]), []);
    assert.deepEqual(await objections([DELETES, SILENT, DELETES]), []);
  });

  test("may fail to serve a page once", async () => {
    const partly = { mode: "ipvs", device: true };
    assert.deepEqual(await objections([LEAVES_IT, partly, LEAVES_IT, partly, LEAVES_IT]), []);
  });

  test("is no objection where --kube-proxy-exclude-cidrs has our range", async () => {
    assert.deepEqual(await objections([DELETES, DELETES, DELETES], [OURS]), []);
  });
});
