import type { Family } from "../../../api/address.ts";
import { CodedError } from "../../../common/errors.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { execLines } from "../../system/exec.ts";
import { MASQUERADE } from "./chain-name.ts";
import type { Tools } from "./flavour.ts";
import type { ListChains } from "./judge.ts";
import { SaveParser } from "./parse.ts";
import { StandingServices } from "./standing.ts";
import { type Believed, type ChainKey, TABLES, type Table } from "./tables.ts";

/** What the nft flavour prints in place of a table that it cannot express, before it ends with status 0 (1.8.9). */
const INCOMPATIBLE = /^# Table `.*' is incompatible/;

/** The chains of each table that the kernel calls. */
const BUILT_IN = {
  filter: ["INPUT", "FORWARD", "OUTPUT"],
  nat: ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
} as const satisfies Record<Table, readonly string[]>;

/**
 * Reads back all of ours with an iptables-save. Rejects as `execLines` does, and with CSP_TABLE_UNREADABLE if the
 * table holds rules of the nft command that iptables cannot express: taking it for empty would pile up jumps, and
 * remove the guard from above rules that still stand.
 */
export async function readBack(
  { list, save }: Pick<Tools, "list" | "save">,
  stop?: AbortSignal,
): Promise<Believed> {
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
      const what = `table ${table} holds rules that iptables cannot express`;
      const where = await unreadablePart(list, table, stop);
      throw new CodedError(
        "CSP_TABLE_UNREADABLE",
        `${save.at(-1)}: ${what}: see nft list ${where}`,
      );
    }
    parser.into(believed);
  }
  return believed;
}

/** Reads which services the kernel leads connections on for, as `Backend.standing` does. */
export async function readServices(
  { save }: Pick<Tools, "save">,
  list: ListChains,
  family: Family,
  stop?: AbortSignal,
): Promise<readonly VirtualService[]> {
  const masquerade: ChainKey = `nat ${MASQUERADE}`;
  const listing = await list([masquerade], () => true, stop);
  const parser = new StandingServices(family, listing.get(masquerade) ?? []);
  await execLines([...save, "-t", "nat"], (line) => parser.line(line), { stop });
  return parser.services();
}

/**
 * The part of a table that iptables cannot express, in the words of nft: one of the kernel's own chains, or the
 * table, if it is another program's chain.
 */
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
      // Whatever else may be wrong with it: this is where to look.
      return `chain ${family} ${table} ${chain}`;
    }
  }
  return `table ${family} ${table}`;
}
