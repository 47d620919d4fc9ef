import { CodedError } from "../../../common/errors.ts";
import { execLines } from "../../system/run-program.ts";
import type { Held } from "../objects.ts";
import { saveLines, type Tools } from "./flavour.ts";
import { SaveParser } from "./listing.ts";
import { BASES, type ChainKey, type Listing, TABLES, type Table } from "./object-id.ts";

/** The nft flavour's output for a table that it cannot express; it exits with status 0 (1.8.9). */
const INCOMPATIBLE = /^# Table `.*' is incompatible/;

/** The built-in chains of each table. */
const BUILT_IN = {
  filter: ["INPUT", "FORWARD", "OUTPUT"],
  nat: ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
} as const satisfies Record<Table, readonly string[]>;

/**
 * Reads back everything of ours with iptables-save. Rejects as `saveLines` does, and with CSP_TABLE_UNREADABLE if a table holds
 * rules that iptables cannot express: treated as empty, it would get duplicate jumps. `withEntries`: chains get the imports of the VIPs and ports in them. Also
 * returns all rules of the built-in chains that have jumps of ours.
 */
export async function readBack(
  { list, save }: Pick<Tools, "list" | "save">,
  stop?: AbortSignal,
  withEntries = false,
): Promise<{ readonly held: Held; readonly bases: Listing }> {
  const held: Held = new Map();
  const bases = new Map(BASES.map((key): [ChainKey, string[]] => [key, []]));
  for (const table of TABLES) {
    const parser = new SaveParser(table, held, withEntries);
    let readable = true;
    await saveLines(
      [...save, "-t", table],
      (line) => {
        if (INCOMPATIBLE.test(line)) readable = false;
        parser.line(line);
        if (line.startsWith("-A ")) bases.get(chainIn(table, line))?.push(line);
      },
      { stop },
    );
    if (!readable) {
      const what = `table ${table} holds rules that iptables cannot express`;
      const where = await unreadablePart(list, table, stop);
      throw new CodedError(
        "CSP_TABLE_UNREADABLE",
        `${save.at(-1)}: ${what}: see nft list ${where}`,
      );
    }
    parser.end();
  }
  return { held, bases };
}

function chainIn(table: Table, line: string): ChainKey {
  return `${table} ${line.slice(3, line.indexOf(" ", 3))}`;
}

/** The part of a table that iptables cannot express, in nft's syntax: a built-in chain, or the table if it is another chain. */
async function unreadablePart(
  list: Tools["list"],
  table: Table,
  stop: AbortSignal | undefined,
): Promise<string> {
  const family = list.at(-1)?.startsWith("ip6") ? "ip6" : "ip";
  for (const chain of BUILT_IN[table]) {
    try {
      await execLines([...list, "-t", table, "-S", chain], () => undefined, { stop });
    } catch {
      return `chain ${family} ${table} ${chain}`;
    }
  }
  return `table ${family} ${table}`;
}
