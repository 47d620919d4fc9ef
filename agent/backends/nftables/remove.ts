import type { Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import { listTable } from "../../system/nft-table.ts";
import { execLines } from "../../system/run-program.ts";
import { tableOf } from "./sets.ts";

/**
 * Deletes the table of one family in one transaction, and returns the number of its rules: 0 the second time. Rejects as `listTable` and
 * `execLines` do. `stop` ends the reading, so that nothing is deleted.
 */
export async function removeOwn(family: Family, stop?: AbortSignal): Promise<number> {
  const table = tableOf(family);
  try {
    const found = await listTable(table, true, stop);
    if (found === undefined || stop?.aborted) return 0;
    await execLines(["nft", "delete", "table", ...table.split(" ")], () => undefined);
    return Math.max(1, found.rules.length);
  } catch (error) {
    // A tool that is not installed has written nothing.
    if (codeOf(error) === "CSP_EXEC_MISSING") return 0;
    throw error;
  }
}
