import assert from "node:assert/strict";
import { test } from "node:test";
import { CodedError } from "../../common/errors.ts";
import { createLogger } from "../../common/log.ts";
import { nodeFact } from "../../test/generators/facts.ts";
import { AgentMetrics } from "./metrics.ts";
import { TrafficObserver } from "./traffic-observer.ts";

function observed() {
  const lines: string[] = [];
  const metrics = new AgentMetrics();
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line);
    lines.push(`${level} ${msg}`);
  };
  const log = createLogger({ level: "info", format: "json" }, { write });
  const samples = async () => {
    const found = (await metrics.text()).matchAll(/^clusterset_agent_connections_total(.*)$/gm);
    return [...found].map(([, rest]) => rest);
  };
  return { lines, samples, traffic: new TrafficObserver(log, metrics) };
}

test("counts are those of the kernel, also if it has begun anew; a cluster of the name unknown has its own", async () => {
  const { samples, traffic } = observed();
  const node = nodeFact({ cluster: "c1", region: "eu-west" });
  const count = (member: string | undefined, connections: number) =>
    ({ family: "IPv4", member, connections }) as const;
  traffic.counted([count("c1", 7), count("unknown", 2), count(undefined, 5)], node, []);
  assert.deepEqual(await samples(), [
    '{family="IPv4",member="c1",tier="local"} 7',
    '{family="IPv4",member="unknown",tier="global"} 2',
    '{family="IPv4",member="unknown",tier="unknown"} 5',
  ]);
  traffic.counted([count("c1", 1)], node, []);
  assert.deepEqual(await samples(), ['{family="IPv4",member="c1",tier="local"} 1']);
});

test("a fault and its end are logged once, and shown meanwhile", () => {
  const { lines, traffic } = observed();
  traffic.unavailable(undefined);
  assert.deepEqual([lines, traffic.remarks()], [[], []]);
  for (let i = 0; i < 3; i++) traffic.unavailable(new CodedError("CSP_EXEC_FAILED", "no"));
  assert.match(traffic.remarks().join(), /^\[\?\]traffic not-counted: .*"CSP_EXEC_FAILED"$/);
  for (let i = 0; i < 3; i++) traffic.unavailable(undefined);
  assert.deepEqual(lines, [
    "warn Connections are not counted by cluster",
    "info Connections are counted by cluster again",
  ]);
  assert.deepEqual(traffic.remarks(), []);
});
