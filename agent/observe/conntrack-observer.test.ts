import assert from "node:assert/strict";
import { test } from "node:test";
import { CodedError } from "../../common/errors.ts";
import { createLogger } from "../../common/log.ts";
import { ConntrackObserver } from "./conntrack-observer.ts";
import { AgentMetrics } from "./metrics.ts";

function observed() {
  const written: string[] = [];
  const log = createLogger(
    { level: "debug", format: "json" },
    { write: (line) => written.push(line) },
  );
  const metrics = new AgentMetrics();
  const lines = () =>
    written.splice(0).map((line) => {
      const { level, msg, by } = JSON.parse(line);
      return [level, msg, by].filter(Boolean).join(" ");
    });
  return { observer: new ConntrackObserver(log, metrics), metrics, lines };
}

const SWEPT = { family: "IPv4", by: "netlink", seconds: 0.01, deleted: [] } as const;
const NO_NATIVE = new CodedError("CSP_NETLINK_UNAVAILABLE", "no native part");
const NO_PROGRAM = new CodedError("CSP_EXEC_MISSING", "no conntrack");

test("a failing access method is logged once, and so is that all fail, and that one works again", () => {
  const { observer, lines } = observed();
  const netlinkFails = () =>
    observer.cleanupFailed({ family: "IPv4", by: "netlink", error: NO_NATIVE, last: false });
  const toolFails = () =>
    observer.cleanupFailed({ family: "IPv4", by: "conntrack", error: NO_PROGRAM, last: true });
  netlinkFails();
  observer.cleanedUp({ ...SWEPT, by: "conntrack" });
  const warnings = () => lines().filter((line) => !line.startsWith("debug"));
  assert.deepEqual(warnings(), [
    "warn Conntrack cleanup failed; trying another access method netlink",
  ]);
  netlinkFails();
  toolFails();
  netlinkFails();
  toolFails();
  assert.deepEqual(warnings(), [
    "warn Conntrack cleanup failed; rules are still programmed conntrack",
  ]);
  observer.cleanedUp(SWEPT);
  observer.cleanedUp(SWEPT);
  assert.deepEqual(warnings(), ["info Conntrack cleanup recovered netlink"]);
});

test("deletions are counted by protocol and reason, failures by access method and code", async () => {
  const { observer, metrics, lines } = observed();
  const left = { protocol: "UDP", reason: "endpoint-left" } as const;
  observer.cleanedUp({ ...SWEPT, deleted: [{ ...left, entries: 3 }] });
  observer.cleanedUp({
    ...SWEPT,
    deleted: [
      { ...left, entries: 2 },
      { protocol: "TCP", reason: "endpoint-gone", entries: 0 },
    ],
  });
  assert.equal(lines().length, 2, "0 deleted entries are not logged");
  observer.cleanupFailed({ family: "IPv6", by: "netlink", error: NO_NATIVE, last: false });
  const text = (await metrics.text()).split("\n");
  for (const line of [
    'conntrack_deleted_entries_total{family="IPv4",protocol="UDP",reason="endpoint-left"} 5',
    'conntrack_sweep_duration_seconds_count{family="IPv4"} 2',
    'conntrack_failures_total{family="IPv6",by="netlink",code="CSP_NETLINK_UNAVAILABLE"} 1',
  ]) {
    assert.ok(text.includes(`clusterset_agent_${line}`), line);
  }
});
