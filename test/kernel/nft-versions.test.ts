import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { nftables } from "../backends/nftables.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AGENT, AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

/** The directory of another nft than the system's. */
const OTHER = execFileSync(join(import.meta.dirname, "debian-13-nft"), { encoding: "utf8" }).trim();
const PATHS = { "the system's": "", "Debian 13's": `${OTHER}:` };
type Which = keyof typeof PATHS;
const HTTP = { name: "http", port: 80, protocol: "TCP" };

const using = (which: Which) => ["env", `PATH=${PATHS[which]}${process.env.PATH}`];

function slices(last: number): object[] {
  return ["web", "sticky"].flatMap((name) =>
    ["10.2.0.", "fd00:2::"].map((network, i) => {
      const addresses = [`${network}1`, `${network}${last}`];
      return sliceObject(`${name}-${i}`, `shop/${name}`, { cluster: "c2" }, [HTTP], addresses);
    }),
  );
}

const WAYS = [
  { title: "by netlink", program: async () => [AGENT] },
  { title: "as text", program: nftables.writingByTools },
];

for (const { title, program } of WAYS) {
  describe(`nft of Debian 12 and 13 on one node, elements written ${title}`, () => {
    let on: AgentNode;
    let argv: readonly string[];
    let agent: AgentProcess;
    const launch = (which: Which) => {
      const ranges = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
      agent = on.agent([...ranges, ...nftables.flags], [...using(which), ...argv]);
      agent.launch();
    };
    const start = async (which: Which) => {
      launch(which);
      await agent.page("/readyz");
    };
    const list = (which: Which) => on.node.exec([...using(which), "nft", "list", "ruleset"]);
    /** Changes the slices, and waits until both families have the change. */
    const change = async (last: number) => {
      on.manifests.write("slices", ...slices(last));
      await eventually(async () => {
        const text = await list("Debian 13's");
        for (const network of ["10\\.2\\.0\\.", "\\[?fd00:2::"])
          assert.equal(text.match(new RegExp(` : ${network}${last}\\b`, "g"))?.length, 2, text);
      });
    };

    before(async () => {
      on = await AgentNode.create();
      argv = (await program?.(on.lab)) ?? [];
      on.manifests.write(
        "imports",
        importObject("shop/web", ["241.0.0.1", "fd00:241::1"], [HTTP]),
        importObject("shop/sticky", ["241.0.0.2", "fd00:241::2"], [HTTP], {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        }),
      );
      on.manifests.write("slices", ...slices(2));
    });
    after(() => on?.[Symbol.asyncDispose]());

    test("both list what Debian 12's wrote; an agent with the other keeps it, and changes it", async () => {
      await start("the system's");
      for (const which of ["the system's", "Debian 13's"] as const)
        for (const name of ["web", "sticky"])
          assert.match(await list(which), new RegExp(`shop/${name}:http global c2`), which);
      await agent.stop();
      // With affinity, Debian 12's accepts fewer of the rules for IPv6, so the rules change, and no element is deleted.
      const nothing = /"family":"IPv4".*"scope":"complete".*"writes":0,"deletes":0,/;
      await start("Debian 13's");
      assert.match(agent.log, nothing);
      assert.equal((await agent.writes())[1], 0);
      await change(3);
      await agent.stop();
      await start("the system's");
      assert.match(agent.log, nothing);
      assert.equal((await agent.writes())[1], 0);
      await change(4);
      await agent.stop();
    });

    test("Debian 13's alone: a table of its own, changes, a restart that writes nothing, and cleanup", async () => {
      await on.node.exec(["nft", "flush", "ruleset"]);
      await start("Debian 13's");
      await change(5);
      await agent.stop();
      await start("Debian 13's");
      assert.deepEqual(await agent.writes(), [0, 0]);
      await agent.stop();
      await on.node.exec([...using("Debian 13's"), ...argv, "cleanup"]);
      assert.deepEqual(await nftables.own(on.node), []);
    });

    test("beside a set that Debian 13's wrote, Debian 12's crashes, and the agent's log says why", async () => {
      const set = "add table ip theirs; add set ip theirs s { type ipv4_addr; }";
      await on.node.exec([...using("Debian 13's"), "nft", set]);
      launch("the system's");
      assert.equal((await agent.exited).code, 1);
      assert.match(agent.log, /CSP_BACKEND_UNUSABLE.*SIGSEGV.*newer nft/);
      await start("Debian 13's");
      await agent.stop();
    });
  });
}
