import assert from "node:assert/strict";
import { test } from "node:test";
import { iptables } from "../backends/iptables.ts";
import { Programmer } from "../backends/programmer.ts";
import { cidr } from "../generators/facts.ts";
import { virtualService } from "../generators/services.ts";
import { Lab } from "../lab/lab.ts";
import { NodeStage } from "../stages/node-stage.ts";

test("a table with rules that iptables cannot list is named, and not changed", async () => {
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  const programmer = await Programmer.start(lab, node, iptables("nft"));
  const repair = async () => {
    const services = [["demo/serve", [virtualService()]]] as const;
    const where = { family: "IPv4", clusterSetCidrs: [cidr("241.0.0.0/8")] } as const;
    return (await programmer.hold({ ...where, config: {}, services, afresh: true })).done;
  };
  await repair();
  await node.exec(["iptables-nft", "-I", "INPUT", "-p", "icmp", "-j", "ACCEPT"]);
  await node.exec(["nft", "add rule ip filter INPUT ct state established accept"]);
  const before = await node.exec(["nft", "list", "ruleset"]);
  assert.match(before, /ct state established/);
  await assert.rejects(repair(), {
    code: "CSP_TABLE_UNREADABLE",
    message: /table filter holds .* nft list chain ip filter INPUT$/,
  });
  await assert.rejects(programmer.check("IPv4"), {
    code: "CSP_TABLE_UNREADABLE",
    message: /INPUT/,
  });
  assert.equal(await node.exec(["nft", "list", "ruleset"]), before);
  await node.exec(["nft", "flush", "chain", "ip", "filter", "FORWARD"]);
  await assert.rejects(repair(), { code: "CSP_TABLE_UNREADABLE" });
  await node.exec(["nft", "flush", "chain", "ip", "filter", "INPUT"]);
  assert.match(await repair(), /-I FORWARD 1 /, "a readable table is repaired");
});

test("a change waits while another program holds the legacy lock, and rules stay", async () => {
  await using stage = await NodeStage.create({ backend: iptables("legacy") });
  await stage.start();
  const script = 'exec 9>"$XTABLES_LOCKFILE"; flock 9; echo held; exec sleep 60';
  const holder = stage.node.spawn(["sh", "-c", script]);
  await holder.line(/held/);
  stage.change("10.1.0.12");
  await stage.logged(({ error }) => error?.code === "CSP_LOCK_HELD");
  assert.match(await stage.rules(), /--to-destination 10\.1\.0\.11:8080/);
  await holder.stop();
  await stage.live("10.1.0.12");
  assert.doesNotMatch(stage.agent.log, /refused-by-kernel/);
});
