import type { Family } from "../../api/address.ts";
import type { Clock } from "../../common/clock.ts";
import type { AgentConfig } from "../config/config.ts";
import { ConntrackFollower } from "../conntrack/conntrack-follower.ts";
import type { SweepEvents } from "../conntrack/sweeps.ts";
import { NetlinkTable } from "../system/conntrack/netlink-table.ts";
import { ToolTable } from "../system/conntrack/tool-table.ts";

/** Who keeps connection tracking right, for each family that has a ClusterSet CIDR. */
export function makeFollowers(
  config: AgentConfig,
  clock: Clock,
  events: SweepEvents,
): Map<Family, ConntrackFollower> {
  const tables = [new NetlinkTable(), new ToolTable()];
  const common = { tables, clock, random: Math.random, events };
  return new Map(
    config.clusterSetCidrs.map((range) => [
      range.family,
      new ConntrackFollower({ family: range.family, range, ...common }),
    ]),
  );
}
