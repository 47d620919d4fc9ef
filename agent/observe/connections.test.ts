import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLogger } from "../../common/log.ts";
import { Connections } from "./connections.ts";
import { AgentMetrics } from "./metrics.ts";

function connections() {
  const lines: string[] = [];
  const metrics = new AgentMetrics();
  const log = createLogger(
    { level: "info", format: "json" },
    {
      write: (line) => {
        const { level, message, msg = message, resource, reason, was } = JSON.parse(line);
        lines.push(`${level} ${msg} ${resource} ${reason}${was ? ` after ${was}` : ""}`);
      },
    },
  );
  return { lines, metrics, connections: new Connections(log, metrics) };
}

describe("connections", () => {
  test("are silent while nothing is wrong", () => {
    const { lines, connections: all } = connections();
    for (const reason of ["listing", "watching", "expired", "listing", "watching"] as const) {
      all.observe("nodes", { reason });
    }
    all.observe("clusterproperties", { reason: "not-served" });
    all.observe("serviceimports", { reason: "listing", detail: "no answer yet" });
    assert.deepEqual(lines, []);
    assert.deepEqual(all.remarks(), [
      "[+]source-nodes ok",
      "[?]source-clusterproperties not-served",
      '[?]source-serviceimports listing: "no answer yet"',
    ]);
  });

  test("tell an outage once, whatever is tried meanwhile, and its end", () => {
    const { lines, connections: all } = connections();
    all.observe("nodes", { reason: "watching" });
    for (let i = 0; i < 3; i++) {
      all.observe("nodes", { reason: "unreachable", detail: "connect ECONNREFUSED" });
      all.observe("nodes", { reason: "listing" });
    }
    all.observe("nodes", { reason: "unauthorized" });
    all.observe("nodes", { reason: "listing" });
    all.observe("nodes", { reason: "watching" });
    assert.deepEqual(lines, [
      "warn The API server is not followed; what is known stays. nodes unreachable",
      "warn The API server is not followed; what is known stays. nodes unauthorized",
      "info The API server is followed again. nodes watching after unauthorized",
    ]);
  });

  test("of a kind that has to be there miss it; what a server says is shown as one printable line", () => {
    const { lines, connections: all } = connections();
    all.observe("serviceimports", { reason: "not-served", detail: "a\nb\u202e" });
    assert.equal(lines.length, 1);
    assert.deepEqual(all.remarks(), ['[-]source-serviceimports not-served: "a\\nb\\u202e"']);
  });

  test("are counted by state, and stand in a gauge", async () => {
    const { metrics, connections: all } = connections();
    all.observe("nodes", { reason: "watching" });
    all.observe("nodes", { reason: "stalled" });
    metrics.sourceObjects(new Map([["nodes", 1]]));
    const text = await metrics.text();
    assert.match(text, /^clusterset_agent_source_watching\{resource="nodes"\} 0$/m);
    assert.match(text, /^clusterset_agent_source_objects\{resource="nodes"\} 1$/m);
    assert.match(text, /source_states_total\{resource="nodes",reason="stalled"\} 1$/m);
  });
});
