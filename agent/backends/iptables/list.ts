import { CodedError } from "../../../common/errors.ts";
import { execLines } from "../../system/run-program.ts";
import { OWN } from "./chain-name.ts";
import type { Flavour, Tools } from "./flavour.ts";
import type { ListChains } from "./jump-order.ts";
import { BASES, type ChainKey, TABLES, tableOf } from "./object-id.ts";

/**
 * Lists chains one after the other, each with the exit status of its listing. It is one shell script, because forking copies
 * the agent's page tables. Errors go to stdout, so that they precede the end of their listing.
 */
const SCRIPT = `set -f
chains=$1
shift
for at in $chains; do
  "$@" -t "\${at%%:*}" -S "\${at#*:}" 2>&1
  echo "= $? $at"
done`;
/**
 * Lists a table up to the first rule in a chain of ours. Built-in chains come first, and printing a thousand services takes as long as reading them. If
 * the tool fails, no chain is listed.
 */
const BUILT_IN_SCRIPT = `"$@" | sed '/^-A ${OWN}/q'`;
/** The tool's exit status if the chain does not exist, or holds rules that iptables cannot express. */
const NONE = "1";
/** The shell's exit status if the program is not installed. */
const MISSING = "127";

/**
 * Lists chains of one flavour in the syntax of iptables-save. nft: each chain separately, which takes milliseconds where a
 * table takes seconds. legacy: tables with iptables-save, because listing a chain fetches its whole table and takes the lock.
 * Rejects as `execLines` does, and with CSP_TABLE_UNREADABLE if a built-in chain cannot be listed.
 */
export function chainLister(flavour: Flavour, { list, save }: Tools): ListChains {
  return flavour === "nft" ? oneByOne(list) : atOnce(save);
}

function oneByOne(tool: Tools["list"]): ListChains {
  return async (keys, keep, stop) => {
    const listing = new Map<ChainKey, readonly string[] | undefined>();
    const byWord = new Map(keys.map((key) => [key.replace(" ", ":"), key]));
    let fault: CodedError | undefined;
    let rules: string[] = [];
    let message = "";
    const onLine = (line: string) => {
      const [, status = "", word = ""] = /^= (\d+) (\S+)$/.exec(line) ?? [];
      const key = byWord.get(word);
      if (key === undefined) {
        if (line.startsWith("-A ") && keep(line)) rules.push(line);
        else if (!line.startsWith("-")) message = line;
        return;
      }
      listing.set(key, status === "0" ? rules : undefined);
      if (status !== "0") fault ??= faultOf(key, status, message);
      rules = [];
      message = "";
    };
    const words = [...byWord.keys()].join(" ");
    await execLines(["sh", "-c", SCRIPT, "sh", words, ...tool], onLine, { stop });
    if (fault !== undefined) throw fault;
    return listing;
  };
}

/** The error of a failed listing; undefined if the chain does not exist. Built-in chains always do. */
function faultOf(key: ChainKey, status: string, message: string): CodedError | undefined {
  if (status === MISSING) return new CodedError("CSP_EXEC_MISSING", message);
  if (status !== NONE)
    return new CodedError("CSP_EXEC_FAILED", `exit status ${status}: ${message}`);
  return BASES.includes(key) ? new CodedError("CSP_TABLE_UNREADABLE", message) : undefined;
}

function atOnce(tool: Tools["save"]): ListChains {
  return async (keys, keep, stop) => {
    const listing = new Map<ChainKey, string[] | undefined>();
    for (const table of TABLES) {
      const ofTable = keys.map(tableOf).filter(([of]) => of === table);
      const requested = new Set(ofTable.map(([, name]) => name));
      if (requested.size === 0) continue;
      const chains = new Map<string, string[]>();
      const onLine = (line: string) => {
        const name = line.slice(line.startsWith(":") ? 1 : 3, line.indexOf(" ", 3));
        if (!requested.has(name)) return;
        if (line.startsWith(":")) chains.set(name, []);
        else if (line.startsWith("-A ") && keep(line)) chains.get(name)?.push(line);
      };
      const save = [...tool, "-t", table] as const;
      const isBuiltIn = keys.every((key) => BASES.includes(key));
      const argv = isBuiltIn ? (["sh", "-c", BUILT_IN_SCRIPT, "sh", ...save] as const) : save;
      await execLines(argv, onLine, { stop });
      // The exit status is that of sed.
      if (isBuiltIn && chains.size === 0)
        throw new CodedError("CSP_TABLE_UNREADABLE", `${tool[0]} listed no chain of ${table}`);
      for (const name of requested) listing.set(`${table} ${name}`, chains.get(name));
    }
    return listing;
  };
}
