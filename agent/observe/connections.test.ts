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
  test("are not logged while the watch works", () => {
    const { lines, connections: all } = connections();
    for (const reason of ["listing", "watching", "expired", "listing", "watching"] as const) {
      all.observe("nodes", { reason });
    }
    all.observe("clusterproperties", { reason: "not-served" });
    all.observe("serviceimports", { reason: "listing", detail: "no response yet" });
    assert.deepEqual(lines, []);
    assert.deepEqual(all.remarks(), [
      "[+]source-nodes ok",
      "[?]source-clusterproperties not-served",
      '[?]source-serviceimports listing: "no response yet"',
    ]);
  });

  test("log an outage once despite attempts in between, and its end", () => {
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
      "warn Watch failed; using last known state nodes unreachable",
      "warn Watch failed; using last known state nodes unauthorized",
      "info Watch restored nodes watching after unauthorized",
    ]);
  });

  test("report a required resource that is not served; the server's message is shown as one printable line", () => {
    const { lines, connections: all } = connections();
    all.observe("serviceimports", { reason: "not-served", detail: "a\nb\u202e" });
    assert.equal(lines.length, 1);
    assert.deepEqual(all.remarks(), ['[-]source-serviceimports not-served: "a\\nb\\u202e"']);
  });

  test("are counted by state, and have a gauge", async () => {
    const { metrics, connections: all } = connections();
    all.observe("nodes", { reason: "watching" });
    all.observe("nodes", { reason: "stalled" });
    const text = await metrics.text();
    assert.match(text, /^clusterset_agent_source_watching\{resource="nodes"\} 0$/m);
    assert.match(text, /source_states_total\{resource="nodes",reason="stalled"\} 1$/m);
  });
});
