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

test("a way that does not work is told once, and so is that none does, and that one does again", () => {
  const { observer, lines } = observed();
  const netlinkFails = () =>
    observer.sweepFailed({ family: "IPv4", by: "netlink", error: NO_NATIVE, last: false });
  const toolFails = () =>
    observer.sweepFailed({ family: "IPv4", by: "conntrack", error: NO_PROGRAM, last: true });
  netlinkFails();
  observer.swept({ ...SWEPT, by: "conntrack" });
  const warnings = () => lines().filter((line) => !line.startsWith("debug"));
  assert.deepEqual(warnings(), [
    "warn Connection tracking cannot be reached; another way is tried. netlink",
  ]);
  netlinkFails();
  toolFails();
  netlinkFails();
  toolFails();
  assert.deepEqual(warnings(), ["warn Connection tracking is not cleaned; rules are. conntrack"]);
  observer.swept(SWEPT);
  observer.swept(SWEPT);
  assert.deepEqual(warnings(), ["info Connection tracking is cleaned again. netlink"]);
});

test("deletions are counted by protocol and reason, failures by way and code", async () => {
  const { observer, metrics, lines } = observed();
  const left = { protocol: "UDP", reason: "endpoint-left" } as const;
  observer.swept({ ...SWEPT, deleted: [{ ...left, entries: 3 }] });
  observer.swept({
    ...SWEPT,
    deleted: [
      { ...left, entries: 2 },
      { protocol: "TCP", reason: "endpoint-gone", entries: 0 },
    ],
  });
  assert.equal(lines().length, 2, "nothing deleted is nothing told");
  observer.sweepFailed({ family: "IPv6", by: "netlink", error: NO_NATIVE, last: false });
  const text = (await metrics.text()).split("\n");
  for (const line of [
    'conntrack_deleted_entries_total{family="IPv4",protocol="UDP",reason="endpoint-left"} 5',
    'conntrack_sweep_duration_seconds_count{family="IPv4"} 2',
    'conntrack_failures_total{family="IPv6",by="netlink",code="CSP_NETLINK_UNAVAILABLE"} 1',
  ]) {
    assert.ok(text.includes(`clusterset_agent_${line}`), line);
  }
});
