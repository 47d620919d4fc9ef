import type { Family } from "../../api/address.ts";
import { textOf } from "./text-file.ts";

/**
 * Names of the tables of iptables' legacy flavour in this network namespace. Unlike listing a table, this creates none.
 * Without the legacy module, the file does not exist and there are no tables.
 */
export async function legacyTables(family: Family): Promise<string[]> {
  const text = await textOf(`/proc/net/${family === "IPv4" ? "ip" : "ip6"}_tables_names`);
  return (text ?? "").split("\n").filter((name) => name !== "");
}
