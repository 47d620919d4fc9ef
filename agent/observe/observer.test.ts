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
  whole: true,
  writes: 1,
  deletes: 0,
} as const;

test("what was there before is no news; what comes after the first sync is", () => {
  const { observer, lines } = observed("info");
  observer.listed();
  observer.planned("demo/serve", PLAN);
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [] });
  assert.deepEqual(lines(), [
    "info All sources have listed; the kernel is written to from now on.",
    "info The kernel is as planned.",
  ]);
  observer.planned("demo/serve", { ...PLAN, reason: "headless" });
  observer.reconciled({ ...PASS, changedAt: [4000] });
  observer.planned("demo/serve", undefined);
  assert.deepEqual(lines(), ["info Import changed state.", "info Import is gone."]);
});

test("the latency of a change is from when it was learned of to the kernel's yes", async () => {
  const { observer, metrics } = observed();
  observer.reconciled({ ...PASS, scope: "complete", changedAt: [1000, 1000] });
  observer.reconciled({ ...PASS, changedAt: [3000, 4500] });
  assert.match(
    await metrics.text(),
    /^clusterset_agent_network_programming_duration_seconds_sum\{family="IPv4"\} 2.5$/m,
  );
});

test("a failure that repeats is told once, another one again, and the recovery once", () => {
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
    "warn The kernel is out of step; what it has is kept.",
    "warn The kernel is out of step; what it has is kept.",
    "warn The kernel is out of step; what it has is kept.",
    "info The kernel is in step again.",
  ]);
});

test("a doubt is told when it begins and when it ends, and counted in between", async () => {
  const { observer, metrics, lines } = observed("info");
  const doubted = { family: "IPv4", services: 12, of: 13, believedIn: 30_000 } as const;
  const gauge = (services: number) =>
    new RegExp(`^clusterset_agent_doubted_services\\{family="IPv4"\\} ${services}$`, "m");
  observer.lossDoubted(doubted);
  assert.match(await metrics.text(), gauge(12));
  observer.lossBelieved({ family: "IPv4", services: 11 });
  assert.match(await metrics.text(), gauge(0));
  observer.lossDoubted(doubted);
  observer.lossBelieved({ family: "IPv4", services: 0 });
  assert.deepEqual(lines(), [
    "warn Nothing tells of most services that the kernel has; their rules stay for now.",
    "warn Services that nothing tells of are believed to be gone.",
    "warn Nothing tells of most services that the kernel has; their rules stay for now.",
    "info Services that nothing told of are told of again.",
  ]);
});

test("a pass that changed nothing is silent at any level", () => {
  const { observer, lines } = observed("trace");
  observer.reconciled({ ...PASS, changedAt: [] });
  lines();
  observer.reconciled({ ...PASS, writes: 0, changedAt: [] });
  assert.deepEqual(lines(), []);
});

test("problems are told and counted by object; a second object clears none of the first", async () => {
  const { observer, metrics, lines } = observed("info");
  const problem = { reason: "invalid-port", field: "ports[0].port", value: "0" } as const;
  observer.problems("A", [{ ...problem, object: "A" }]);
  observer.problems("B", []);
  observer.problems("A", [{ ...problem, object: "A" }]);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 1$/m);
  observer.problems("A", []);
  assert.match(await metrics.text(), /^clusterset_agent_rejected_parts\{.*\} 0$/m);
  assert.deepEqual(lines(), ["warn Refused.", "info No longer refused."]);
});

test("an object that changes to and fro does not fill the log, and takes no line from another", () => {
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
    "warn Lines about an object come too fast; some are left out.",
    "info Import appeared.",
  ]);
});
