/**
 * Prints the UDP entries of its network namespace as WAY (`netlink`, `conntrack`) lists them, one a line, and deletes
 * them if the next word is `delete`. Run as a program on a node of a lab; needs root.
 */

import type { Entry } from "../../agent/system/conntrack/entry.ts";
import { NetlinkTable } from "../../agent/system/conntrack/netlink-table.ts";
import { ToolTable } from "../../agent/system/conntrack/tool-table.ts";
import { FAMILIES } from "../../api/address.ts";

const [way, wish] = process.argv.slice(2);
const table = way === "netlink" ? new NetlinkTable() : new ToolTable();
for (const family of FAMILIES) {
  const entries: Entry[] = [];
  await table.list({ family, protocol: "UDP" }, (entry) => entries.push(entry));
  for (const entry of entries) console.log(JSON.stringify(entry));
  if (wish === "delete") console.log(`deleted ${await table.delete(entries)}`);
}
