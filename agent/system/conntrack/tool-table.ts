import { CodedError } from "../../../common/errors.ts";
import { execLines } from "../run-program.ts";
import type { Entry } from "./entry.ts";
import { deleteArguments, listArguments, parseLine } from "./listing.ts";
import type { ConntrackTable, EntryFilter } from "./table.ts";

/** Printed, with exit status 1, if the entries do not exist. */
const NOTHING_LEFT = " 0 flow entries have been deleted";

/** The table, accessed by the program conntrack: slower, with a process per call, but without native code. */
export class ToolTable implements ConntrackTable {
  readonly name = "conntrack";

  /** Rejects with CSP_EXEC_MISSING, CSP_EXEC_FAILED or CSP_EXEC_TIMEOUT. */
  async list(
    filter: EntryFilter,
    onEntry: (entry: Entry) => void,
    stop?: AbortSignal,
  ): Promise<void> {
    const onLine = (line: string) => {
      const entry = parseLine(line, filter.family);
      if (entry !== undefined) onEntry(entry);
    };
    await execLines(["conntrack", ...listArguments(filter)], onLine, { stop });
  }

  /** Rejects as `list` does. */
  async delete(entries: readonly Entry[], stop?: AbortSignal): Promise<number> {
    let deleted = 0;
    for (const call of deleteArguments(entries)) {
      // One line for each entry that was deleted.
      await execLines(["conntrack", ...call], () => deleted++, { stop }).catch((error) => {
        const gone = error instanceof CodedError && error.message.includes(NOTHING_LEFT);
        if (!gone) throw error;
      });
    }
    return deleted;
  }
}
