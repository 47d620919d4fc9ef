import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Cidr } from "../../../api/cidr.ts";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { watchKubeProxy } from "./kind.ts";
import { excludedCidrs, type KubeProxyReport, kubeProxyObjection } from "./kube-proxy.ts";

const OURS = [cidr("241.0.0.0/8"), cidr("fd00:241::/32")];
const SIX = "fd00:241::/32";

/** With the names of the internal type (pkg/proxy/apis/config), as kube-proxy prints it. */
function configz(excluded: readonly string[] | null): string {
  const IPVS = {
    SyncPeriod: 30_000_000_000,
    Scheduler: "",
    ExcludeCIDRs: excluded,
    StrictARP: true,
  };
  return JSON.stringify({ "kubeproxy.config.k8s.io": { Mode: "ipvs", IPVS } });
}

describe("beside kube-proxy", () => {
  for (const mode of ["iptables", "nftables", "iptables\n"]) {
    test(`in ${mode.trim()} mode there is no objection, even if the device of an earlier one exists`, () => {
      assert.equal(kubeProxyObjection({ mode, device: true }, OURS, []), undefined);
    });
  }

  test("without kube-proxy there is no objection", () => {
    assert.equal(kubeProxyObjection({ device: false }, OURS, []), undefined);
  });

  test("in ipvs mode it must exclude our ranges; the objection names the configuration line", () => {
    const said = kubeProxyObjection(
      { mode: "ipvs", configz: configz(null), device: true },
      OURS,
      [],
    );
    assert.match(said ?? "", /deletes virtual servers in 241\.0\.0\.0\/8 and fd00:241::\/32\./);
    assert.match(said ?? "", /ipvs: \{excludeCIDRs: \["241\.0\.0\.0\/8", "fd00:241::\/32"\]\}/);
    assert.doesNotMatch(said ?? "", /--kube-proxy-exclude-cidrs/);
  });

  test("of two ranges, the objection names the one that is not excluded", () => {
    const report = { mode: "ipvs", configz: configz(["240.0.0.0/4"]), device: true };
    assert.match(kubeProxyObjection(report, OURS, []) ?? "", /servers in fd00:241::\/32\./);
  });

  test("excluding a wider range is enough, excluding a narrower one is not", () => {
    const report = (...list: string[]) => ({ mode: "ipvs", configz: configz(list), device: true });
    assert.equal(kubeProxyObjection(report("240.0.0.0/4", SIX), OURS, []), undefined);
    assert.ok(kubeProxyObjection(report("241.0.0.0/9", SIX), OURS, []));
  });

  test("without an answer its device counts, and the flag may say what it excludes", () => {
    const report = { device: true };
    assert.match(kubeProxyObjection(report, OURS, []) ?? "", /--kube-proxy-exclude-cidrs/);
    assert.equal(kubeProxyObjection(report, OURS, OURS), undefined);
  });

  test("a page that is no configuration of kube-proxy has no excludeCIDRs", () => {
    for (const text of [
      "",
      "{",
      "[]",
      "null",
      '{"kubeproxy.config.k8s.io":{}}',
      '{"kubeproxy.config.k8s.io":{"IPVS":7}}',
    ]) {
      assert.equal(excludedCidrs(text), undefined, text);
    }
    assert.deepEqual(excludedCidrs(configz(["x", "10.0.0.0/8"])), [cidr("10.0.0.0/8")]);
  });
});

const SILENT: KubeProxyReport = { device: true };
const LEAVES_IT: KubeProxyReport = {
  mode: "ipvs",
  device: true,
  configz: configz(["240.0.0.0/4", SIX]),
};
const DELETES: KubeProxyReport = { mode: "ipvs", device: true, configz: configz([]) };

/** The objections after one check for each report. */
async function objections(reports: readonly KubeProxyReport[], excluded: readonly Cidr[] = []) {
  const clock = new FakeClock();
  const said: string[] = [];
  const rest = [...reports];
  const read = async () => rest.shift() ?? assert.fail("read once more");
  const config = { clusterSetCidrs: OURS, kubeProxyExcludeCidrs: excluded };
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
    assert.match(said, /excludeCIDRs: \["241\.0\.0\.0\/8", "fd00/);
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
    assert.deepEqual(await objections([DELETES, DELETES, DELETES], OURS), []);
  });
});
