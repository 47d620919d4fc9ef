import { CodedError, codeOf } from "../../common/errors.ts";
import { type NftTable, parseTable } from "./nftables/listing.ts";
import { execLines } from "./run-program.ts";

/** Printed if the table does not exist. */
const ABSENT = /No such file or directory/;

/**
 * Reads a table, such as `ip name`; undefined if it does not exist. `terse`: without elements of sets. Rejects as `execLines`
 * does, and with CSP_TABLE_UNREADABLE if the output of nft is malformed.
 */
export async function listTable(
  name: string,
  terse: boolean,
  stop?: AbortSignal,
): Promise<NftTable | undefined> {
  const argv = [
    "nft",
    "-j",
    ...(terse ? ["-t"] : []),
    "list",
    "table",
    ...name.split(" "),
  ] as const;
  let text = "";
  try {
    await execLines(argv, (line) => (text += line), { stop });
  } catch (error) {
    if (codeOf(error) === "CSP_EXEC_FAILED" && ABSENT.test(String(error))) return undefined;
    throw error;
  }
  const table = parseTable(text);
  if (table !== undefined) return table;
  throw new CodedError("CSP_TABLE_UNREADABLE", `nft: table ${name}: malformed listing`);
}
