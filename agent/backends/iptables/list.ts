import { CodedError } from "../../../common/errors.ts";
import { execLines } from "../../system/exec.ts";
import type { Flavour, Tools } from "./flavour.ts";
import type { Keep, ListChains, Listing } from "./judge.ts";
import { BASES, type ChainKey, TABLES, tableOf } from "./tables.ts";

/**
 * Lists some chains, one after the other, and says how each listing ended. One shell for all of them: to start a
 * program costs the agent a copy of its page tables, and the shell next to nothing. Errors go where the rules go, so
 * that they come before the end of the listing that they belong to.
 */
const SCRIPT = `set -f
chains=$1
shift
for at in $chains; do
  "$@" -t "\${at%%:*}" -S "\${at#*:}" 2>&1
  echo "= $? $at"
done`;
/** How the tool ends if there is no such chain, or if it holds what iptables cannot express. */
const NONE = "1";
/** How the shell says that there is no such program. */
const MISSING = "127";

/**
 * How the chains of one flavour are listed: read-only, and in the spelling of iptables-save.
 *
 * - nft: each chain by itself. Milliseconds, whatever else there is, where a listing of a table takes seconds.
 * - legacy: the tool fetches the whole table for a single chain, and waits for the lock; iptables-save fetches it
 *   once for all, and takes none.
 *
 * Rejects as `execLines` does, and with CSP_TABLE_UNREADABLE if one of the kernel's own chains cannot be listed.
 */
export function chainLister(flavour: Flavour, { list, save }: Tools): ListChains {
  return flavour === "nft"
    ? (keys, keep, stop) => listOneByOne(list, keys, keep, stop)
    : (keys, keep, stop) => listAtOnce(save, keys, keep, stop);
}

async function listOneByOne(
  tool: Tools["list"],
  keys: readonly ChainKey[],
  keep: Keep,
  stop: AbortSignal | undefined,
): Promise<Listing> {
  const listing = new Map<ChainKey, readonly string[] | undefined>();
  const byWord = new Map(keys.map((key) => [key.replace(" ", ":"), key]));
  let fault: CodedError | undefined;
  let rules: string[] = [];
  let lastWords = "";
  const onLine = (line: string) => {
    const [, status = "", word = ""] = /^= (\d+) (\S+)$/.exec(line) ?? [];
    const key = byWord.get(word);
    if (key === undefined) {
      if (line.startsWith("-A ") && keep(line)) rules.push(line);
      else if (!line.startsWith("-")) lastWords = line;
      return;
    }
    listing.set(key, status === "0" ? rules : undefined);
    if (status !== "0") fault ??= faultOf(key, status, lastWords);
    rules = [];
    lastWords = "";
  };
  await execLines(["sh", "-c", SCRIPT, "sh", [...byWord.keys()].join(" "), ...tool], onLine, {
    stop,
  });
  if (fault !== undefined) throw fault;
  return listing;
}

/** A chain that is not there is an answer, unless the kernel has it always. */
function faultOf(key: ChainKey, status: string, lastWords: string): CodedError | undefined {
  if (status === MISSING) return new CodedError("CSP_EXEC_MISSING", lastWords);
  if (status !== NONE)
    return new CodedError("CSP_EXEC_FAILED", `exit status ${status}: ${lastWords}`);
  return BASES.includes(key) ? new CodedError("CSP_TABLE_UNREADABLE", lastWords) : undefined;
}

async function listAtOnce(
  save: Tools["save"],
  keys: readonly ChainKey[],
  keep: Keep,
  stop: AbortSignal | undefined,
): Promise<Listing> {
  const listing = new Map<ChainKey, string[] | undefined>();
  for (const table of TABLES) {
    const wanted = new Set(keys.map(tableOf).flatMap(([of, name]) => (of === table ? [name] : [])));
    if (wanted.size === 0) continue;
    const chains = new Map<string, string[]>();
    const onLine = (line: string) => {
      const name = line.slice(line.startsWith(":") ? 1 : 3, line.indexOf(" ", 3));
      if (!wanted.has(name)) return;
      if (line.startsWith(":")) chains.set(name, []);
      else if (line.startsWith("-A ") && keep(line)) chains.get(name)?.push(line);
    };
    await execLines([...save, "-t", table], onLine, { stop });
    for (const name of wanted) listing.set(`${table} ${name}`, chains.get(name));
  }
  return listing;
}
