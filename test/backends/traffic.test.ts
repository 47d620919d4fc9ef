import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { request } from "../lab/programs.ts";
import { AGENT, eventually } from "../stages/agent-process.ts";
import { DECLARED, TrafficStage } from "../stages/traffic-stage.ts";

for (const backend of BACKENDS) {
  describe(`connections by cluster, ${backend.title}`, () => {
    let stage: TrafficStage;
    const assertCounts = async (...lines: readonly string[]) =>
      assert.deepEqual(await stage.counted(), { IPv4: lines, IPv6: lines });
    const eventuallyCounts = (...lines: readonly string[]) =>
      eventually(() => assertCounts(...lines));

    before(async () => {
      stage = await TrafficStage.create(backend);
      await stage.agent.start();
      await eventuallyCounts(
        "c1 local 0",
        "c2 regional 0",
        "c3 global 0",
        // What no range has.
        "unknown unknown 0",
      );
    });
    after(() => stage?.[Symbol.asyncDispose]());

    test("each connection of TCP and UDP counts once, for the cluster and tier of its endpoint", async () => {
      await stage.connect("c1", 1);
      await stage.connect("c2", 2);
      await stage.connect("c3", 3);
      await stage.connect("c4", 4);
      await assertCounts("c1 local 2", "c2 regional 4", "c3 global 6", "unknown unknown 8");
    });

    test("connections that do not go to a VIP, and those that are rejected, do not count", async () => {
      const web = stage.lab.pod("c2", "n1", "web").address();
      const client = stage.lab.pod("c1", "n1", "client");
      await client.exec(["curl", "-s", `http://${web}:8080/`]);
      for (const vip of ["241.0.0.2", "[fd00:241::2]"]) {
        const { stdout } = await client.run(request("--count", "1", `tcp://${vip}:81`));
        assert.match(stdout, /"refused"/);
      }
      await assertCounts("c1 local 2", "c2 regional 4", "c3 global 6", "unknown unknown 8");
    });

    test("without an agent the kernel counts on, and the next agent continues", async () => {
      await stage.agent.stop();
      await stage.connect("c2", 1);
      await stage.agent.start();
      await eventuallyCounts("c1 local 2", "c2 regional 6", "c3 global 6", "unknown unknown 8");
    });

    test("when ranges change, clusters keep their counts; one that declares ranges begins with 0, and one without is gone", async () => {
      // The narrower range counts: c3's is a part of c4's.
      stage.declare({ c3: DECLARED.c3, c4: "10.0.0.0/8,fd00:10::/32" });
      await eventuallyCounts("c1 local 2", "c3 global 6", "c4 global 0", "unknown unknown 8");
      await stage.connect("c1", 1);
      await stage.connect("c3", 1);
      await stage.connect("c4", 1);
      await assertCounts("c1 local 4", "c3 global 8", "c4 global 2", "unknown unknown 8");
    });

    test("after another program has flushed all rules, counting begins anew", async () => {
      await stage.node.exec(["nft", "flush", "ruleset"]);
      await eventuallyCounts("c1 local 0", "c3 global 0", "c4 global 0", "unknown unknown 0");
      await eventually(() => stage.connect("c3", 1));
      const { IPv4 } = await stage.counted();
      assert.match(IPv4?.[1] ?? "", /^c3 global [1-9]/);
    });

    test("SIGTERM leaves the table, and cleanup deletes it", async () => {
      await stage.agent.stop();
      const list = ["nft", "list", "tables"];
      assert.match(await stage.node.exec(list), /ip clusterset-connections\n/);
      await stage.node.exec([AGENT, "cleanup"]);
      assert.doesNotMatch(await stage.node.exec(list), /clusterset/);
    });
  });
}
