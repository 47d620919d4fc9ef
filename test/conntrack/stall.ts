/**
 * Cleans up the connection tracking table of its network namespace as the agent does, for one port (`UDP` or `TCP`) of
 * DESTINATION PORT whose only endpoint is ENDPOINT, until it has deleted ENTRIES (default: any). Prints how long that took, what it
 * deleted, and the longest time that it blocked the event loop. Run as a program on a node of a lab; needs root.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { CleanupResult } from "../../agent/conntrack/cleanup-schedule.ts";
import { ConntrackFollower } from "../../agent/conntrack/conntrack-follower.ts";
import { NetlinkTable } from "../../agent/system/conntrack/netlink-table.ts";
import { ToolTable } from "../../agent/system/conntrack/tool-table.ts";
import { isCidr, parseCidr } from "../../api/cidr.ts";
import { systemClock } from "../../common/clock.ts";

const [way = "netlink", protocol = "UDP", vip = "", port = "", endpoint = "", enough = "1"] =
  process.argv.slice(2);
// A scan that is slow may find a part of the entries stale, and the next one the rest.
const total = { seconds: 0, entries: 0 };
const range = parseCidr("241.0.0.0/8");
if (!isCidr(range)) throw new Error(range);
const { promise, resolve, reject } = Promise.withResolvers<void>();
const add = ({ seconds, deleted }: CleanupResult) => {
  if (deleted.length === 0) return;
  total.seconds += seconds;
  total.entries += deleted.reduce((sum, one) => sum + one.entries, 0);
  if (total.entries >= Number(enough)) resolve();
};
const follower = new ConntrackFollower({
  family: "IPv4",
  ranges: [range],
  tables: [way === "netlink" ? new NetlinkTable() : new ToolTable()],
  clock: systemClock,
  random: Math.random,
  events: {
    cleanedUp: add,
    cleanupFailed: ({ error }) => reject(error),
  },
});
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
await sleep(200);
const resting = delays.max / 1e6;
delays.reset();
// The time until the monitor's next sample is not counted.
await sleep(20);
follower.proposed("demo/serve", [
  {
    importKey: "demo/serve",
    portName: "dns",
    protocol: protocol === "TCP" ? "TCP" : "UDP",
    port: Number(port),
    family: "IPv4",
    vips: [vip],
    reason: "nearest-ready",
    endpoints: [{ address: endpoint, port: 5353 }],
  },
]);
follower.accepted(true);
// The follower's timers alone keep no process alive.
const alive = setInterval(() => undefined, 60_000);
await promise;
clearInterval(alive);
await sleep(20);
delays.disable();
const stallMs = delays.max / 1e6;
console.log(
  JSON.stringify({
    way,
    ...total,
    stallMs,
    resting,
    p99: delays.percentile(99) / 1e6,
    rss: process.memoryUsage().rss / 1e6,
  }),
);
await follower.stop();
