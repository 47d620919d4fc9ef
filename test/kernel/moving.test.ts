import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { service } from "../backends/service.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKENDS } from "../backends.ts";
import { Held } from "../connections/connections.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { AGENT, AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

const [WEB, EMPTY] = ["241.0.1.7", "241.0.1.8"];
/** Connections of each client in a second. */
const RATE = 100;
const PATIENCE = 60_000;

type Move = readonly [from: TestedBackend, to: TestedBackend];

/** Every move between two backends, once, each from where the one before has led (Hierholzer's circuit). */
function moves(): Move[] {
  const left = new Map(BACKENDS.map((from) => [from, BACKENDS.filter((to) => to !== from)]));
  const stack = BACKENDS.slice(0, 1);
  const circuit: TestedBackend[] = [];
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    const next = left.get(at)?.pop();
    if (next !== undefined) stack.push(next);
    else circuit.unshift(...stack.splice(-1));
  }
  return circuit.slice(1).map((to, i) => [circuit[i] ?? to, to]);
}

describe("moving from one backend to another under load", () => {
  let on: AgentNode;
  let agent: AgentProcess | undefined;
  const held: Held[] = [];
  const storm: Process[] = [];

  before(async () => {
    on = await AgentNode.create({ web: ["10.1.0.11"], client: [] });
    await on.serve("web");
    // A server in TIME_WAIT drops the SYN of a client port that is used again: not a fault of rules.
    await on.pod("web").exec(["sysctl", "-qw", "net.ipv4.tcp_max_tw_buckets=0"]);
    on.manifests.write("web", ...service("shop/web", [WEB], ["10.1.0.11"]));
    on.manifests.write("empty", ...service("shop/empty", [EMPTY], []));
    await start(BACKENDS[0]);
    for (const client of [on.pod("client"), on.node]) {
      const process = client.spawn(request("--hold", `http://${WEB}`));
      held.push(new Held(process, await process.line(/name/, PATIENCE)));
      for (const vip of [WEB, EMPTY]) {
        const flags = ["--for", "900", "--in-flight", "4", "--rate", `${RATE}`, "--every", "500"];
        storm.push(client.spawn(request(...flags, "--timeout", "5000", `tcp://${vip}:80`)));
      }
    }
  });
  after(() => on[Symbol.asyncDispose]());

  async function start(backend: TestedBackend | undefined): Promise<void> {
    assert.ok(backend);
    agent = on.agent(["--region", "eu-west", ...backend.flags]);
    await agent.start();
  }

  for (const [from, to] of moves()) {
    test(`${from.title} to ${to.title}: established connections continue, and only the new rules stay`, async () => {
      await agent?.stop();
      await start(to);
      const own = async (of: TestedBackend) => (await of.own(on.node)).join("\n");
      await eventually(async () => assert.match(await own(to), to.complete), PATIENCE);
      await eventually(async () => assert.equal(await own(from), ""), PATIENCE);
      const counts = held.map(({ count }) => count);
      await eventually(() => {
        for (const [i, { count }] of held.entries()) assert.ok(count > (counts[i] ?? 0) + 2);
      }, PATIENCE);
      assert.deepEqual(
        held.map(({ fault }) => fault),
        [undefined, undefined],
      );
    });
  }

  test("a backend that the node does not support leaves the rules of the one before, and the agent exits", async () => {
    const [first] = BACKENDS;
    assert.ok(first && agent);
    await agent.stop();
    const rules = await first.own(on.node);
    assert.match(rules.join("\n"), first.complete);
    const tools = join(on.lab.directory, "tools");
    mkdirSync(tools);
    writeFileSync(join(tools, "nft"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const program = ["env", `PATH=${tools}:${process.env.PATH}`, AGENT];
    const unusable = on.agent(["--region", "eu-west", "--backend", "nftables"], program);
    unusable.launch();
    const { code } = await unusable.exited;
    assert.notEqual(code, 0);
    assert.match(unusable.log, /CSP_BACKEND_UNUSABLE/);
    assert.deepEqual(await first.own(on.node), rules);
    await agent.start();
  });

  test("no new connection has failed or hung meanwhile, and each to an import without endpoints was refused", async () => {
    for (const one of storm) one.signal("SIGTERM");
    await Promise.all(storm.map((one) => one.exited));
    const sums = storm.map(({ lines }) => JSON.parse(lines.at(-1) ?? "{}"));
    for (const [i, { total, answered, errors }] of sums.entries()) {
      assert.ok(total > RATE, `${total} connections`);
      const refused = { answered: 0, errors: { refused: total } };
      assert.deepEqual(
        { answered, errors },
        i % 2 === 0 ? { answered: total, errors: {} } : refused,
      );
    }
    await Promise.all(held.map((one) => one.close()));
    await agent?.stop();
  });
});
