import { textOf } from "./text-file.ts";

/**
 * Clients that xt_recent remembers per list, so per endpoint of an import with ClientIP affinity: the module parameter
 * ip_list_tot, 100 by default. Undefined while the module is not loaded; the first rule that needs it loads it.
 */
export async function affinityLimit(): Promise<number | undefined> {
  const text = await textOf("/sys/module/xt_recent/parameters/ip_list_tot");
  const limit = Number.parseInt(text ?? "", 10);
  return Number.isInteger(limit) ? limit : undefined;
}
