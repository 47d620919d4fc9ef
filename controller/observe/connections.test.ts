import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../common/clock.ts";
import { LimitedLog } from "../../common/limited-log.ts";
import { createLogger } from "../../common/log.ts";
import { Connections } from "./connections.ts";
import { ControllerMetrics } from "./metrics.ts";

/** Connections, and the lines of the log: level, message, fields. */
function observed() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    const { time: _time, ...rest } = JSON.parse(line);
    lines.push(rest);
  };
  const log = createLogger({ level: "info", format: "json" }, { write });
  return {
    lines,
    connections: new Connections(new LimitedLog(log, systemClock), new ControllerMetrics()),
  };
}

test("a forbidden registry is logged with namespace, server message and hint", () => {
  const { lines, connections } = observed();
  const detail = 'HTTP 403: leases is forbidden: User "c1" cannot list resource "leases"';
  connections.observe("c1", "leases", { reason: "forbidden", detail });
  assert.deepEqual(lines, [
    {
      level: "warn",
      msg: "Watch failed; using last known state",
      cluster: "c1",
      namespace: "clusterset-registry-c1",
      resource: "leases",
      reason: "forbidden",
      detail,
      hint: "check the namespace and its rights, see docs/guides/mesh-or-hub.md",
    },
  ]);
});

test("an outage and its end are logged once; a missing optional CRD is no outage", () => {
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
