import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { kernelScheduler } from "../../agent/backends/ipvs/render.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { FAMILIES } from "../../api/address.ts";
import { SCHEDULERS } from "../../api/keys.ts";
import { PROTOCOLS } from "../../api/protocol.ts";
import { ipvs } from "../backends/ipvs.ts";
import { Programmer } from "../backends/programmer.ts";
import { cidr } from "../generators/facts.ts";
import { virtualService } from "../generators/services.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";

describe("virtual servers in the kernel", () => {
  let lab: Lab;
  let programmer: Programmer;
  const node = () => lab.node("c1", "n1");
  const servers = async () => (await node().exec(["ipvsadm", "-Sn"])).trim().split("\n");
  const hold = (service: VirtualService) =>
    programmer.hold({
      family: "IPv4",
      clusterSetCidrs: [cidr("241.0.0.0/8")],
      config: {},
      services: [["demo/serve", [service]]],
    });
  before(async () => {
    lab = await Lab.oneNode();
    programmer = await Programmer.start(lab, node(), ipvs);
  });
  after(() => lab.remove());

  test("ipvsadm shows the rendered servers, and each has our mark", async () => {
    await hold(virtualService());
    const lines = await servers();
    const ours = lines.filter((line) => line.startsWith("-A"));
    assert.ok(ours.length > 0);
    for (const line of ours) assert.match(line, / -b \S*flag-3/);
    for (const line of lines) assert.match(line, /^-A | -m -w [01]$/);
  });

  for (const family of FAMILIES) {
    test(`${family}: a stock kernel has no limit, and testing leaves no virtual server behind`, async () => {
      const script = `
        import { ProtocolTrials } from "@/agent/backends/ipvs/kind.ts";
        const { affinity, protocols } = await new ProtocolTrials("rr").limits("${family}");
        console.log(JSON.stringify({ affinity, protocols: [...protocols] }));`;
      const before = await servers();
      const [limits] = await evaluate(node(), script);
      assert.deepEqual(limits, { affinity: true, protocols: PROTOCOLS });
      assert.deepEqual(await servers(), before);
    });
  }

  for (const scheduler of SCHEDULERS) {
    test(`scheduler ${scheduler}: the kernel accepts it, and lists it, rr as wrr`, async () => {
      const { left } = await hold(virtualService({ scheduler, affinitySeconds: 600 }));
      assert.doesNotMatch(left, /set-server|new-server/);
      const server = (await servers()).find((line) => line.startsWith("-A -t 241.0.0.10:80 "));
      const terms = ` -s ${kernelScheduler(scheduler, false)} -p 600 -b \\S*(flag-3|[sm]h-fallback)`;
      assert.match(server ?? "", new RegExp(terms));
    });
  }
});
