import assert from "node:assert/strict";
import { test } from "node:test";
import { CodedError } from "../../common/errors.ts";
import { createLogger } from "../../common/log.ts";
import type { Verdict } from "../health/verdict.ts";
import { HealthObserver } from "./health-observer.ts";
import { AgentMetrics } from "./metrics.ts";

function observer() {
  const lines: string[] = [];
  const metrics = new AgentMetrics();
  const write = (line: string) => {
    const { level, msg, cluster = "", endpoint = "", why = "" } = JSON.parse(line);
    lines.push([level, msg, cluster, endpoint, why].filter((word) => word !== "").join(", "));
  };
  const log = createLogger({ level: "info", format: "json" }, { write });
  return { lines, metrics, health: new HealthObserver(log, metrics) };
}

function verdict(scope: Verdict["scope"], i = 1): Verdict {
  const endpoint = { address: `10.2.0.${i}`, port: 80 };
  const name = `${endpoint.address}:80`;
  return {
    name: scope === "cluster" ? "cluster c2" : `endpoint ${name}`,
    ...{
      scope,
      cluster: "c2",
      namespace: "",
      except: "",
      endpoints: new Map([[name, endpoint]]),
      since: i,
      members: [],
      isPartial: false,
      isTrial: false,
    },
    ...{ terms: { recurrences: 0, hold: 0, expires: 300_000 }, probes: 0, probeAt: 0 },
  };
}

test("a verdict and its end are logged, counted and shown", async () => {
  const { lines, metrics, health } = observer();
  assert.deepEqual(health.remarks(), ["[+]health ok"]);
  const one = verdict("endpoint");
  health.silent(one);
  assert.deepEqual(health.remarks(), ['[-]health unanswering: "endpoint 10.2.0.1:80" of "c2"']);
  assert.match(await metrics.text(), /health_unanswering\{scope="endpoint"\} 1/);
  health.ended(one, "answered", 5_000);
  assert.deepEqual(health.remarks(), ["[+]health ok"]);
  assert.match(await metrics.text(), /health_unanswering\{scope="endpoint"\} 0/);
  assert.match(await metrics.text(), /health_verdicts_total\{scope="endpoint"\} 1/);
  assert.deepEqual(lines, [
    "warn, Endpoint does not answer; using it last, c2, 10.2.0.1:80",
    "info, Endpoint is used as before, c2, 10.2.0.1:80, answered",
  ]);
});

test("what flaps is shown with the time for which it is held", () => {
  const { health } = observer();
  const flapping = { ...verdict("endpoint"), terms: { recurrences: 2, hold: 20_000, expires: 1 } };
  health.silent(flapping);
  assert.match(health.remarks()[0] ?? "", /of "c2", time 3 in a row: for 20 s at least$/);
});

test("a cluster is always logged and shown first; of thousands of endpoints, twenty are", () => {
  const { lines, health } = observer();
  for (let i = 1; i <= 2_000; i++) health.silent(verdict("endpoint", i));
  health.silent(verdict("cluster"));
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), "warn, No endpoint of a cluster answers; using the cluster last, c2");
  const remarks = health.remarks();
  assert.equal(remarks.length, 20);
  assert.equal(remarks[0], '[-]health unanswering: "cluster c2" of "c2"');
});

test("a silent uplink is shown until it ends", async () => {
  const { lines, metrics, health } = observer();
  health.uplink(true);
  assert.match(health.remarks()[0] ?? "", /^\[-\]health uplink/);
  assert.match(await metrics.text(), /health_uplink_silent 1/);
  health.uplink(false);
  assert.deepEqual(health.remarks(), ["[+]health ok"]);
  assert.equal(lines.length, 2);
});

test("missing evidence is logged once for each cause, and counted each time", async () => {
  const { lines, metrics, health } = observer();
  const error = new CodedError("CSP_NETLINK_UNAVAILABLE", "netlink: no");
  for (let i = 0; i < 3; i++) health.unavailable(error);
  assert.match(health.remarks()[0] ?? "", /not-tested: .*CSP_NETLINK_UNAVAILABLE/);
  health.unavailable(undefined);
  assert.deepEqual(lines, [
    "warn, Silent endpoints are not detected",
    "info, Silent endpoints are detected again",
  ]);
  assert.match(await metrics.text(), /health_failures_total\{code="CSP_NETLINK_UNAVAILABLE"\} 3/);
});
