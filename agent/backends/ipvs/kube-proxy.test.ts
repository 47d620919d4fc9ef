import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/support/worlds.ts";
import { excludedCidrs, kubeProxyObjection } from "./kube-proxy.ts";

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
    test(`in ${mode.trim()} mode there is no objection, whatever an earlier one has left behind`, () => {
      assert.equal(kubeProxyObjection({ mode, device: true }, OURS, []), undefined);
    });
  }

  test("no kube-proxy, no objection", () => {
    assert.equal(kubeProxyObjection({ device: false }, OURS, []), undefined);
  });

  test("in ipvs mode it has to leave our ranges alone: the line is named", () => {
    const said = kubeProxyObjection(
      { mode: "ipvs", configz: configz(null), device: true },
      OURS,
      [],
    );
    assert.match(said ?? "", /deletes virtual servers in 241\.0\.0\.0\/8 and fd00:241::\/32\./);
    assert.match(said ?? "", /ipvs: \{excludeCIDRs: \["241\.0\.0\.0\/8", "fd00:241::\/32"\]\}/);
    assert.doesNotMatch(said ?? "", /--kube-proxy-exclude-cidrs/);
  });

  test("of two ranges, the one that it does not leave alone is named", () => {
    const sight = { mode: "ipvs", configz: configz(["240.0.0.0/4"]), device: true };
    assert.match(kubeProxyObjection(sight, OURS, []) ?? "", /servers in fd00:241::\/32\./);
  });

  test("wider ranges will do, narrower ones will not", () => {
    const sight = (...list: string[]) => ({ mode: "ipvs", configz: configz(list), device: true });
    assert.equal(kubeProxyObjection(sight("240.0.0.0/4", SIX), OURS, []), undefined);
    assert.ok(kubeProxyObjection(sight("241.0.0.0/9", SIX), OURS, []));
  });

  test("where it does not tell, its device counts, and the operator may say what it is told", () => {
    const sight = { device: true };
    assert.match(kubeProxyObjection(sight, OURS, []) ?? "", /--kube-proxy-exclude-cidrs/);
    assert.equal(kubeProxyObjection(sight, OURS, OURS), undefined);
  });

  test("what is no configuration of kube-proxy tells nothing", () => {
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
