import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";

const COUNT = 12;
const HTTP = { name: "http", port: 80, protocol: "TCP" };

/** The import and the slice of one service. */
function service(i: number, endpoint = `10.1.0.${100 + i}`): readonly object[] {
  const key = `shop/s${i}` as const;
  const target = [{ ...HTTP, port: 8080 }];
  return [
    importObject(key, [`241.0.${i}.7`], [HTTP]),
    sliceObject(`s${i}-c1`, key, { cluster: "c1", region: "eu-west" }, target, [endpoint]),
  ];
}

describe("a restart with the wrong directory of manifests", { concurrency: true }, () => {
  for (const flavour of ["nft", "legacy"] as const) {
    test(`takes no rule away for 30 seconds, holds up nothing that is wanted, and is then believed: ${flavour}`, async () => {
      await using lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
      const node = lab.node("c1", "n1");
      const flags = [
        ...["--cluster-id", "c1", "--region", "eu-west", "--pod-cidrs", "10.1.0.0/16"],
        ...["--clusterset-cidr", "241.0.0.0/8", "--iptables-flavour", flavour],
      ];
      const rules = async () => {
        const lines = (await node.exec([`iptables-${flavour}-save`])).split("\n");
        return lines.filter((line) => line.includes("CSP-")).map((line) => `${line}\n`);
      };
      const rulesOf = async (i: number) =>
        (await rules()).filter((line) => line.includes(`"shop/s${i}:http`)).join("");

      const right = new ManifestDirectory(lab, "right");
      for (let i = 0; i < COUNT; i++) right.write(`s${i}`, ...service(i));
      const before = new AgentProcess(node, right.path, flags);
      await before.start();
      await before.stop();
      const left = await rules();

      const wrong = new ManifestDirectory(lab, "wrong");
      const agent = new AgentProcess(node, wrong.path, flags);
      agent.launch();
      await eventually(async () => {
        assert.equal(await agent.metric("clusterset_agent_doubted_services"), COUNT);
      });
      assert.deepEqual(await rules(), left);
      assert.equal(await agent.metric("clusterset_agent_kernel_objects_written_total"), 0);
      const page = "http://127.0.0.1:10269/readyz?verbose";
      const { stdout } = await node.run(["curl", "-s", page]);
      assert.match(stdout, /^\[-\]first-sync-IPv4 failed: mass-loss$/m);
      assert.match(agent.log, /"reason":"mass-loss","services":12,"of":12,.*Nothing tells of most/);

      wrong.write("s3", ...service(3, "10.1.0.55"));
      wrong.write("s50", ...service(50));
      await eventually(async () => {
        assert.match(await rulesOf(3), /10\.1\.0\.55:8080/);
        assert.match(await rulesOf(50), /10\.1\.0\.150:8080/);
      });
      assert.match(await rulesOf(4), /-d 241\.0\.4\.7\/32 .* -g CSP-SVC-.*\n.*10\.1\.0\.104:8080/);
      assert.doesNotMatch(agent.log, /believed to be gone/);

      await eventually(() => agent.page("/readyz"), 40_000);
      assert.match(agent.log, /"services":11,.*believed to be gone/);
      assert.equal(await agent.metric("clusterset_agent_doubted_services"), 0);
      const names = (await rules()).map((line) => /"(shop\/s\d+):http/.exec(line)?.[1]);
      assert.deepEqual(new Set(names), new Set([undefined, "shop/s3", "shop/s50"]));
      await agent.stop();
      await node.exec(["bin/clusterset-agent", "cleanup"]);
      assert.deepEqual(await rules(), []);
    });
  }
});
