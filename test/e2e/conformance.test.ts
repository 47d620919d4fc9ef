import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { lifeCases, propertyCases, sliceCases } from "../apiserver/conformance/cases.ts";
import type { CaseStage } from "../apiserver/service-case.ts";
import { Clusterset } from "./clusterset.ts";
import { connectionCases } from "./conformance/connections.ts";
import { headlessNameCases, nameCases } from "./conformance/names.ts";
import { AskingCluster } from "./conformance/served.ts";

// Cases of the conformance suite of the Multi-Cluster Services API, by the numbers of docs/MCS-API.md, on two real clusters:
// connections and names, from real pods, and imports that come and go. For a report
// (scripts/conformance.ts) also properties and conflicts, by the same code as in test/apiserver/conformance.test.ts.

const IS_REPORT = process.env.CONFORMANCE_REPORT !== undefined;

describe("two real clusters", () => {
  let set: Clusterset;
  let stage: CaseStage<AskingCluster>;
  before(async () => {
    const regions = ["eu-west", "us-east"];
    set = await Clusterset.create({ clusters: 2, regions, components: ["dual-stack", "ipvs"] });
    stage = { clusters: await Promise.all(set.ids.map((id) => AskingCluster.start(set, id))) };
  });
  after(() => set?.remove());

  describe("conform", { concurrency: 6 }, () => {
    describe("by connections", { concurrency: 1 }, () => connectionCases(() => stage));
    headlessNameCases(() => stage);
    nameCases(() => stage);
    lifeCases(() => stage);
    sliceCases(() => stage);
    if (IS_REPORT) propertyCases(() => stage);
  });

  test("agents that may use IPVS do so where the node supports it, else they use iptables and log the reason; their container can set sysctls", async () => {
    for (const { id } of set.clusters.all) {
      const { host } = set.clusters.cluster(id).node("node-1");
      const page = (path: string) => host.exec(["curl", "-s", `127.0.0.1:10269/${path}`]);
      const remark = /^\[(?:\+\]backend-(ipvs) ok|\?\]backend-(iptables) ipvs-unusable: .+)$/m;
      const [, ipvs, iptables] = remark.exec(await page("readyz?verbose")) ?? [];
      assert.ok(ipvs ?? iptables, id);
      const backend = new RegExp(`^\\w+_build_info{.*backend="${ipvs ?? iptables}"`, "m");
      assert.match(await page("metrics"), backend);
    }
    const sysctl = "/sys/net/ipv4/conf/all/arp_announce";
    const write = (procfs: string) =>
      `kubectl --context cluster-1 -n clusterset-proxy exec daemonset/clusterset-agent -- sh -c 'cat ${procfs}${sysctl} | tee ${procfs}${sysctl}'`;
    assert.match(await set.shell(write("/host/proc")), /^\d$/m);
    await assert.rejects(set.shell(write("/proc")), /Read-only file system/);
  });
});
