import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger } from "../../common/log.ts";
import { Connections } from "./connections.ts";
import { ControllerMetrics } from "./metrics.ts";

/** How connections fare, and the lines of the log: level, message, fields. */
function observed() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    const { time: _time, ...rest } = JSON.parse(line);
    lines.push(rest);
  };
  const log = createLogger({ level: "info", format: "json" }, { write });
  return { lines, connections: new Connections(log, new ControllerMetrics()) };
}

test("a registry that is refused is named with its namespace, in the server's own words, with what to look at", () => {
  const { lines, connections } = observed();
  const detail = 'HTTP 403: leases is forbidden: User "c1" cannot list resource "leases"';
  connections.observe("c1", "leases", { reason: "forbidden", detail });
  assert.deepEqual(lines, [
    {
      level: "warn",
      msg: "An API server is not followed; what is known stays.",
      cluster: "c1",
      namespace: "clusterset-registry-c1",
      resource: "leases",
      reason: "forbidden",
      detail,
      hint: "is there such a namespace, with the rights of docs/guides/mesh-or-hub.md?",
    },
  ]);
});

test("an outage is told once, and its end; a kind that a cluster has not is none", () => {
  const { lines, connections } = observed();
  for (const reason of ["watching", "unreachable", "listing", "unreachable", "watching"] as const) {
    connections.observe(undefined, "services", { reason });
  }
  connections.observe(undefined, "clusterproperties", { reason: "not-served" });
  assert.deepEqual(
    lines.map(({ level, reason, was, hint }) => [level, reason, was, hint]),
    [
      ["warn", "unreachable", undefined, undefined],
      ["info", "watching", "unreachable", undefined],
    ],
  );
});
