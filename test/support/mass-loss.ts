import assert from "node:assert/strict";
import { Lab } from "../lab/lab.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "./agent-process.ts";
import { ownRules, takers } from "./kernel-under-test.ts";
import { importObject, sliceObject } from "./objects.ts";

const COUNT = 12;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** Milliseconds to wait for what is to come, and for a loss to be believed, which takes 30 s. */
const PATIENCE = 60_000;

/** The import and the slice of one service. */
function service(i: number, endpoint = `10.1.0.${100 + i}`): readonly object[] {
  const key = `shop/s${i}` as const;
  const target = [{ ...HTTP, port: 8080 }];
  return [
    importObject(key, [`241.0.${i}.7`], [HTTP]),
    sliceObject(`s${i}-c1`, key, { cluster: "c1", region: "eu-west" }, target, [endpoint]),
  ];
}

/**
 * A restart with the wrong directory of manifests takes no rule away for 30 seconds, holds up nothing that is wanted, and is
 * then believed. `flags`: more of the agent's; `save`: the program that lists iptables' rules.
 */
export async function assertMassLoss(flags: readonly string[], save?: string): Promise<void> {
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
  const node = lab.node("c1", "n1");
  const all = [
    ...["--cluster-id", "c1", "--region", "eu-west", "--pod-cidrs", "10.1.0.0/16"],
    ...["--clusterset-cidr", "241.0.0.0/8", ...flags],
  ];
  const taking = () => takers(node, "IPv4", "TCP", save);
  const address = (i: number) => `10.1.0.${100 + i}`;

  const right = new ManifestDirectory(lab, "right");
  for (let i = 0; i < COUNT; i++) right.write(`s${i}`, ...service(i));
  const before = new AgentProcess(node, right.path, all);
  await before.start();
  await before.stop();
  const left = await ownRules(node, save);
  assert.equal((await taking()).length, COUNT);

  const wrong = new ManifestDirectory(lab, "wrong");
  const agent = new AgentProcess(node, wrong.path, all);
  agent.launch();
  await eventually(async () => {
    assert.equal(await agent.metric("clusterset_agent_doubted_services"), COUNT);
  }, PATIENCE);
  assert.deepEqual(await ownRules(node, save), left);
  assert.equal(await agent.metric("clusterset_agent_kernel_objects_written_total"), 0);
  const page = "http://127.0.0.1:10269/readyz?verbose";
  const { stdout } = await node.run(["curl", "-s", page]);
  assert.match(stdout, /^\[-\]first-sync-IPv4 failed: mass-loss$/m);
  assert.match(agent.log, /"reason":"mass-loss","services":12,"of":12,.*Nothing tells of most/);

  wrong.write("s3", ...service(3, "10.1.0.55"));
  wrong.write("s50", ...service(50));
  const kept = Array.from({ length: COUNT }, (_, i) => i).filter((i) => i !== 3);
  const wanted = ["10.1.0.55", address(50)];
  await eventually(async () => {
    assert.deepEqual(await taking(), [...kept.map(address), ...wanted].sort());
  }, PATIENCE);
  assert.doesNotMatch(agent.log, /believed to be gone/);

  await eventually(() => agent.page("/readyz"), PATIENCE);
  assert.match(agent.log, /"services":11,.*believed to be gone/);
  assert.equal(await agent.metric("clusterset_agent_doubted_services"), 0);
  assert.deepEqual(await taking(), wanted.sort());
  await agent.stop();
  await node.exec([AGENT, "cleanup"]);
  assert.deepEqual(await ownRules(node, save), []);
}
