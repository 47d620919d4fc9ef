import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { AgentProcess, eventually } from "../stages/agent-process.ts";
import { NodeStage } from "../stages/node-stage.ts";

/** What loads one of the programs of test/stages/programs into an agent. */
function preloading(file: string): string[] {
  const path = fileURLToPath(new URL(`../stages/programs/${file}`, import.meta.url));
  return ["env", `NODE_OPTIONS=--import=${path}`];
}

// Side by side: they mostly wait.
describe("faults of the agent's process", { concurrency: 3 }, () => {
  for (const [what, signal] of [
    ["exception", "SIGUSR2"],
    ["rejection", "SIGALRM"],
  ] as const) {
    test(`an uncaught ${what} ends the agent with an error code in the log; the rules stay, and the next agent writes nothing`, async () => {
      await using stage = await NodeStage.create({ through: () => preloading("doomed.ts") });
      await stage.start();
      const before = await stage.rules();
      stage.agent.signal(signal);
      const exit = await stage.agent.exited;
      assert.deepEqual(exit, { code: 1, signal: null });
      const last = stage.log.at(-1);
      assert.equal(last?.error?.code, "CSP_UNCAUGHT");
      assert.match(JSON.stringify(last?.error), /TypeError.*nobody foresaw this.*doomed\.ts/);
      assert.equal(await stage.rules(), before);
      const next = new AgentProcess(stage.node, stage.manifests.path, ["--cluster-id", "c1"]);
      await next.start();
      assert.deepEqual(await next.writes(), [0, 0]);
      assert.equal(await stage.rules(), before);
      await next.stop();
    });
  }

  test("without free file descriptors the agent keeps its rules and logs that; with some it programs missed changes", async () => {
    await using stage = await NodeStage.create();
    await stage.start();
    const { agent } = stage;
    // What counts connections is written by a program of its own, whose pipes would count as open.
    await eventually(() =>
      stage.node.exec(["nft", "list", "table", "ip", "clusterset-connections"]),
    );
    const limit = (most: number) =>
      stage.node.exec(["prlimit", "--pid", `${agent.pid}`, `--nofile=${most}:`]);
    await limit(3);
    const before = await stage.rules();
    stage.change("10.1.0.12");
    await stage.logged(({ reason, detail }) => reason === "unreadable" && detail === "EMFILE");
    assert.equal(await stage.rules(), before);
    await limit(1024);
    await stage.live("10.1.0.12");

    // Room for a file, not for the pipes of a program: iptables-restore has ended, and cannot be started again.
    const restore = stage.children.get("iptables-nft-restore");
    assert.ok(restore !== undefined);
    process.kill(restore, "SIGKILL");
    await sleep(100);
    const open = new Set(stage.descriptors);
    const free = Array.from({ length: open.size + 3 }, (_, i) => i).filter((i) => !open.has(i));
    await limit((free[1] ?? 0) + 1);
    stage.change("10.1.0.13");
    await stage.logged(({ error }) => error?.code === "CSP_EXEC_STARVED");
    await stage.live("10.1.0.12");
    await limit(1024);
    await stage.live("10.1.0.13");
    await stage.logged(({ msg }) => msg === "Rules are in sync again");
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
  });

  test("a jump of the system time by years, on a node with an uptime of 200 days, changes nothing", async () => {
    const uptime = 200 * 86_400;
    const clocks = ["unshare", "--time", `--monotonic=${uptime}`, `--boottime=${uptime}`];
    const through = () => [...clocks, ...preloading("turned-clock.ts")];
    await using stage = await NodeStage.create({ through });
    await stage.start();
    const { agent } = stage;
    for (const [endpoint, chain] of [
      ["10.1.0.12", "PREROUTING"],
      ["10.1.0.13", "OUTPUT"],
    ] as const) {
      agent.signal("SIGUSR2");
      stage.change(endpoint);
      await stage.live(endpoint);
      await stage.node.exec(["iptables-nft", "-w", "-t", "nat", "-F", chain]);
      await stage.logged(({ what }) => String(what).startsWith(`nat ${chain} `));
      await eventually(async () => assert.match(await stage.rules(), new RegExp(`-A ${chain} `)));
    }
    const slowest = await agent.metric("clusterset_agent_network_programming_duration_seconds_sum");
    assert.ok(slowest < 60, `${slowest} s`);
    assert.match(await agent.page("/readyz?verbose"), /readyz check passed/);
    const years = new Set(stage.log.map(({ time }) => new Date(String(time)).getFullYear()));
    assert.equal(years.size, 3, `it did see the time of day leap: ${[...years].join()}`);
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
  });
});
