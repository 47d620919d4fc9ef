import { CodedError } from "../../../common/errors.ts";
import { execLines } from "../../system/exec.ts";
import type { Argv } from "./flavour.ts";
import { SaveParser } from "./parse.ts";
import { type Believed, TABLES } from "./tables.ts";

/** What the nft flavour prints in place of a table that it cannot express, before it ends with status 0 (1.8.9). */
const INCOMPATIBLE = /^# Table `.*' is incompatible/;

/**
 * Reads back all of ours with an iptables-save. Rejects as `execLines` does, and with CSP_TABLE_UNREADABLE if the
 * table holds rules of the nft command that iptables cannot express: taking it for empty would pile up jumps, and
 * remove the guard from above rules that still stand.
 */
export async function readBack(save: Argv, stop?: AbortSignal): Promise<Believed> {
  const believed: Believed = { chains: new Map(), jumps: [] };
  for (const table of TABLES) {
    const parser = new SaveParser(table);
    let readable = true;
    await execLines(
      [...save, "-t", table],
      (line) => {
        if (INCOMPATIBLE.test(line)) readable = false;
        parser.line(line);
      },
      { stop },
    );
    if (!readable) {
      const message = `${save.at(-1)}: table ${table} holds rules that iptables cannot express`;
      throw new CodedError("CSP_TABLE_UNREADABLE", message);
    }
    parser.into(believed);
  }
  return believed;
}
