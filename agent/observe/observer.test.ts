import assert from "node:assert/strict";
import { test } from "node:test";
import { CodedError } from "../../common/errors.ts";
import { createLogger, type LogLevel } from "../../common/log.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { AgentMetrics } from "./metrics.ts";
import { Observer } from "./observer.ts";

interface Observed {
  readonly observer: Observer;
  readonly metrics: AgentMetrics;
  /** Lines since the last call, as `level message`. */
  readonly lines: () => string[];
}

function observed(level: LogLevel = "debug"): Observed {
  const written: string[] = [];
  const log = createLogger({ level, format: "json" }, { write: (line) => written.push(line) });
  const metrics = new AgentMetrics();
  const observer = new Observer(log, metrics, { now: () => 5000 });
  const lines = (): string[] =>
    written.splice(0).map((line) => {
      const { level: severity, msg } = JSON.parse(line);
      return `${severity} ${msg}`;
    });
  return { observer, metrics, lines };
}

const PLAN: ImportPlan = {
  importKey: "demo/serve",
  reason: "no-vip",
  vips: [],
  services: [],
  excluded: [],
};
const PASS = {
  family: "IPv4",
  scope: "changed",
  seconds: 0.01,
  writes: 1,
  deletes: 0,
} as const;

test("objects of the initial lists are logged for debugging, changes after the first sync as info", () => {
  const { observer, lines } = observed("info");
  observer.listed();
  observer.planned("demo/serve", PLAN);
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [] });
  assert.deepEqual(lines(), [
    "info Caches synced; programming rules",
    "info Programmed rules; in sync",
  ]);
  observer.planned("demo/serve", { ...PLAN, reason: "headless" });
  observer.reconciled({ ...PASS, changedAt: [4000] });
  observer.planned("demo/serve", undefined);
  assert.deepEqual(lines(), ["info Import changed state", "info Import was removed"]);
});

test("the latency of a change is from its observation to its acceptance by the kernel", async () => {
  const { observer, metrics } = observed();
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [1000, 1000] });
  observer.reconciled({ ...PASS, changedAt: [3000, 4500] });
  assert.match(
    await metrics.text(),
    /^clusterset_agent_network_programming_duration_seconds_sum\{family="IPv4"\} 2.5$/m,
  );
});

test("a failure that repeats is logged once, another one again, and the recovery once", () => {
  const { observer, lines } = observed("info");
  const failed = (error: Error, family: "IPv4" | "IPv6" = "IPv4"): void =>
    observer.failed({ family, error, failures: 1, retryIn: 100 });
  observer.reconciled({ ...PASS, changedAt: [] });
  lines();
  failed(new CodedError("CSP_RESTORE_EXITED", "first"));
  failed(new CodedError("CSP_RESTORE_EXITED", "second"));
  failed(new CodedError("CSP_RESTORE_TIMEOUT", "third"));
  failed(new CodedError("CSP_RESTORE_TIMEOUT", "other family"), "IPv6");
  observer.reconciled({ ...PASS, changedAt: [] });
  observer.reconciled({ ...PASS, changedAt: [] });
  assert.deepEqual(lines(), [
    "warn Sync failed; keeping existing rules",
    "warn Sync failed; keeping existing rules",
    "warn Sync failed; keeping existing rules",
    "info Rules are in sync again",
  ]);
});

test("a retention is logged when it begins and when it ends, and counted in between", async () => {
  const { observer, metrics, lines } = observed("info");
  const retained = { family: "IPv4", services: 12, of: 13, forMs: 30_000 } as const;
  const gauge = (services: number) =>
    new RegExp(`^clusterset_agent_doubted_services\\{family="IPv4"\\} ${services}$`, "m");
  observer.retained(retained);
  assert.match(await metrics.text(), gauge(12));
  observer.released({ family: "IPv4", services: 11 });
  assert.match(await metrics.text(), gauge(0));
  observer.retained(retained);
  observer.released({ family: "IPv4", services: 0 });
  assert.deepEqual(lines(), [
    "warn Initial list is missing most programmed services; keeping their rules",
    "warn Deleting the rules of services that are not listed",
    "warn Initial list is missing most programmed services; keeping their rules",
    "info Retained services are listed again",
  ]);
  observer.retained({ family: "IPv4", services: 12, of: 12 });
  assert.deepEqual(lines(), [
    "warn Flags do not allow the VIPs of most programmed services; keeping their rules",
  ]);
});

test("a pass that changed nothing is not logged at any level", () => {
  const { observer, lines } = observed("trace");
  observer.reconciled({ ...PASS, changedAt: [] });
  lines();
  observer.reconciled({ ...PASS, writes: 0, changedAt: [] });
  assert.deepEqual(lines(), []);
});

test("problems are logged and counted by object; a second object clears none of the first", async () => {
  const { observer, metrics, lines } = observed("info");
  const problem = { reason: "invalid-port", field: "ports[0].port", value: "0" } as const;
  observer.problems("A", [{ ...problem, object: "A" }]);
  observer.problems("B", []);
  observer.problems("A", [{ ...problem, object: "A" }]);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 1$/m);
  observer.problems("A", []);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 0$/m);
  assert.deepEqual(lines(), [
    "warn Rejected part of an object",
    "info Part of an object is no longer rejected",
  ]);
});

test("an object that keeps changing does not fill the log, and other objects are still logged", () => {
  const { observer, lines } = observed("info");
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [] });
  observer.planned("demo/serve", PLAN);
  lines();
  for (let i = 0; i < 10_000; i++) {
    observer.planned("demo/serve", { ...PLAN, reason: i % 2 === 0 ? "headless" : "no-vip" });
  }
  observer.planned("demo/other", PLAN);
  const told = lines();
  assert.equal(told.length, 101);
  assert.deepEqual(told.slice(-2), [
    "warn Too many log lines about an object; leaving some out",
    "info Import was added",
  ]);
});
