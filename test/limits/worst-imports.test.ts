import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FLAGS } from "../../agent/config/flags.ts";
import type { Kind, Report, Shape } from "./limited-agent.ts";

/** The most memory that one namespace can make an agent use, in megabytes. */
const MOST_MEGABYTES = 256;

/**
 * What a rule of the budget is in the largest transaction. With IPVS, endpoints come and others go. So they do with nftables, and resets need an element more for each.
 */
const MOST_FOR_A_RULE: Record<Kind, number> = { iptables: 2.2, ipvs: 2.2, nftables: 4 };

const KINDS: readonly Kind[] = ["iptables", "ipvs", "nftables"];

/** With each backend where their transactions differ: with endpoints. */
const SHAPES: readonly (readonly [string, Shape, readonly Kind[]])[] = [
  [
    "thousands of empty slices for a thousand ports",
    { imports: 2, ports: 1000, slices: 2000, slicePorts: 0, endpoints: 0 },
    ["nftables"],
  ],
  [
    "full slices of one port, with resets",
    {
      ...{ imports: 8, ports: 1, slices: 30, slicePorts: 1, endpoints: 1000 },
      change: { onEndpointDeath: "reset" },
    },
    KINDS,
  ],
  [
    "slices of a hundred of a thousand ports, with resets",
    {
      ...{ imports: 5, ports: 1000, slices: 30, slicePorts: 100, endpoints: 20 },
      change: { onEndpointDeath: "reset" },
    },
    ["iptables"],
  ],
];

async function reportOf(agent: ChildProcess): Promise<Report> {
  const [report] = await once(agent, "message");
  return report as Report;
}

/** Requests a page, and reads nothing of it. */
function readSlowly(t: TestContext, port: number, path: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  socket.pause();
  return new Promise((resolve) => socket.once("readable", resolve));
}

for (const [name, shape, kind] of SHAPES.flatMap(([name, shape, kinds]) =>
  kinds.map((kind) => [name, shape, kind] as const),
)) {
  test(`${name}, with ${kind}: little memory, also for whom requests all pages, and small transactions`, async (t) => {
    const program = join(import.meta.dirname, "limited-agent.ts");
    // Not the flags of the test runner.
    const agent = fork(program, [JSON.stringify(shape), kind], { execArgv: [] });
    t.after(() => agent.kill("SIGKILL"));
    const { port } = await reportOf(agent);
    const slow = ["/plan", "/plan?output=yaml"].map((path) => readSlowly(t, port, path));
    await Promise.all(slow);
    const pages = ["/metrics", "/plan", "/plan?output=yaml", "/plan/tenant/import-0?output=yaml"];
    for (const page of pages) {
      const reply = await fetch(`http://127.0.0.1:${port}${page}`);
      let length = 0;
      for await (const part of reply.body ?? []) length += part.length;
      assert.equal(reply.status, 200, page);
      assert.ok(length > 0, page);
    }
    agent.send("report");
    const { megabytes, largest } = await reportOf(agent);
    t.diagnostic(`${megabytes} MB, ${largest} rules at once`);
    assert.ok(megabytes < MOST_MEGABYTES, `${megabytes} MB`);
    const most = MOST_FOR_A_RULE[kind] * Number(FLAGS.maxRulesPerImport.default);
    assert.ok(largest <= most, `${largest} rules at once`);
  });
}
