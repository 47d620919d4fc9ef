import { readFile } from "node:fs/promises";

/**
 * Clients that the kernel remembers per `recent` list, so per endpoint of an import with ClientIP affinity:
 * the module parameter ip_list_tot, 100 unless it was loaded with another. Undefined while the module is not
 * loaded.
 */
export async function affinityLimit(): Promise<number | undefined> {
  const path = "/sys/module/xt_recent/parameters/ip_list_tot";
  // The file appears with the module, when the first rule asks for it.
  const text = await readFile(path, "utf8").catch(() => "");
  const limit = Number.parseInt(text, 10);
  return Number.isInteger(limit) ? limit : undefined;
}
