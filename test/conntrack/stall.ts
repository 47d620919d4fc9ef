/**
 * Sweeps the connection tracking table of its network namespace as the agent does, for one port (`UDP` or `TCP`) of
 * DESTINATION PORT whose only endpoint is ENDPOINT, and prints how long the walk took that found something, what it
 * deleted, and for how long the event loop was held up at most. Run as a program on a node of a lab; needs root.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { ConntrackFollower } from "../../agent/conntrack/conntrack-follower.ts";
import type { Swept } from "../../agent/conntrack/sweeps.ts";
import { NetlinkTable } from "../../agent/system/conntrack/netlink-table.ts";
import { ToolTable } from "../../agent/system/conntrack/tool-table.ts";
import { isCidr, parseCidr } from "../../api/cidr.ts";
import { systemClock } from "../../common/clock.ts";

const [way = "netlink", protocol = "UDP", vip = "", port = "", endpoint = ""] =
  process.argv.slice(2);
const range = parseCidr("241.0.0.0/8");
if (!isCidr(range)) throw new Error(range);
const { promise, resolve, reject } = Promise.withResolvers<Swept>();
const follower = new ConntrackFollower({
  family: "IPv4",
  range,
  tables: [way === "netlink" ? new NetlinkTable() : new ToolTable()],
  clock: systemClock,
  random: Math.random,
  events: {
    swept: (what) => void (what.deleted.length > 0 && resolve(what)),
    sweepFailed: ({ error }) => reject(error),
  },
});
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
await sleep(200);
const resting = delays.max / 1e6;
delays.reset();
// What happens before its next look is not counted.
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
    endpoints: [{ address: endpoint, port: 5353, maybeHere: false }],
  },
]);
follower.accepted(true);
const { seconds, deleted } = await promise;
await sleep(20);
delays.disable();
const stallMs = delays.max / 1e6;
const entries = deleted.reduce((sum, one) => sum + one.entries, 0);
console.log(
  JSON.stringify({
    way,
    seconds,
    entries,
    stallMs,
    resting,
    p99: delays.percentile(99) / 1e6,
    rss: process.memoryUsage().rss / 1e6,
  }),
);
await follower.stop();
