import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";
import type { TestedBackend } from "./tested-backend.ts";

const COUNT = 12;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** Milliseconds to wait for changes, and for the end of the retention, which takes 30 s. */
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
 * A restart with the wrong directory of manifests writes and deletes no rule for 30 seconds, and then follows that directory.
 */
async function assertMassLoss(backend: TestedBackend): Promise<void> {
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
  const node = lab.node("c1", "n1");
  const all = [
    ...["--cluster-id", "c1", "--region", "eu-west", "--pod-cidrs", "10.1.0.0/16"],
    ...["--clusterset-cidr", "241.0.0.0/8", ...backend.flags],
  ];
  const taking = () => backend.takers(node, "IPv4", "TCP");
  const address = (i: number) => `10.1.0.${100 + i}`;

  const right = new ManifestDirectory(lab, "right");
  for (let i = 0; i < COUNT; i++) right.write(`s${i}`, ...service(i));
  const before = new AgentProcess(node, right.path, all);
  await before.start();
  await before.stop();
  const left = await backend.own(node);
  assert.equal((await taking()).length, COUNT);

  const wrong = new ManifestDirectory(lab, "wrong");
  const agent = new AgentProcess(node, wrong.path, all);
  agent.launch();
  await eventually(async () => {
    assert.equal(await agent.metric("clusterset_agent_doubted_services"), COUNT);
  }, PATIENCE);
  assert.deepEqual(await backend.own(node), left);
  const page = "http://127.0.0.1:10269/readyz?verbose";
  const { stdout } = await node.run(["curl", "-s", page]);
  assert.match(stdout, /^\[-\]first-sync-IPv4 failed: mass-loss$/m);
  assert.match(
    agent.log,
    /"reason":"mass-loss","services":12,"of":12,.*Initial list is missing most/,
  );

  wrong.write("s3", ...service(3, "10.1.0.55"));
  wrong.write("s50", ...service(50));
  await eventually(async () => assert.match(await agent.page("/plan"), /shop\/s50/), PATIENCE);
  assert.deepEqual(await backend.own(node), left, "no rule is written or deleted yet");

  await eventually(() => agent.page("/readyz"), PATIENCE);
  assert.match(agent.log, /"services":11,.*Deleting the rules of services that are not listed/);
  assert.equal(await agent.metric("clusterset_agent_doubted_services"), 0);
  assert.deepEqual(await taking(), ["10.1.0.55", address(50)].sort());
  await agent.stop();
  await node.exec([AGENT, "cleanup"]);
  assert.deepEqual(await backend.own(node), []);
}

describe("a restart with the wrong directory of manifests", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`writes and deletes nothing for 30 seconds, and then takes effect: ${backend.title}`, () =>
      assertMassLoss(backend));
  }
});
