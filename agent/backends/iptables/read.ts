import { execLines } from "../../system/exec.ts";
import type { Argv } from "./flavour.ts";
import { SaveParser } from "./parse.ts";
import { type Believed, TABLES } from "./tables.ts";

/** Reads back all of ours with an iptables-save. Rejects as `exec` does. */
export async function readBack(save: Argv): Promise<Believed> {
  const believed: Believed = { chains: new Map(), jumps: [] };
  for (const table of TABLES) {
    const parser = new SaveParser(table);
    await execLines([...save, "-t", table], (line) => parser.line(line));
    parser.into(believed);
  }
  return believed;
}
