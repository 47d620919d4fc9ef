import { readFile } from "node:fs/promises";
import type { Family } from "../../api/address.ts";

/**
 * Names of the tables that the legacy flavour of iptables has in this network namespace. Asking the kernel
 * this way creates none, which listing one does.
 */
export async function legacyTables(family: Family): Promise<string[]> {
  const names = `/proc/net/${family === "IPv4" ? "ip" : "ip6"}_tables_names`;
  // The file is missing while the legacy module is not loaded: then it has no tables either.
  const text = await readFile(names, "utf8").catch(() => "");
  return text.split("\n").filter((name) => name !== "");
}
