import { constants } from "node:os";
import type { Family } from "../../../api/address.ts";
import { attribute, locate } from "../netlink/attributes.ts";
import { NETLINK, NetlinkSocket, rejected } from "../netlink/socket.ts";
import { ADDRESS_FAMILY, readText, readUint32BE, text } from "../netlink/values.ts";
import { execLines } from "../run-program.ts";
import { commentOf } from "./element.ts";
import { hookText, type TableRules } from "./listing.ts";

/** NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_…. */
const GET = { table: 0xa01, chain: 0xa04, rules: 0xa07 } as const;
/** `struct nfgenmsg`: family, version 0, and a resource ID. */
const HEADER = 4;
/** NFTA_TABLE_…, NFTA_CHAIN_…, NFTA_HOOK_… and NFTA_RULE_… */
const TABLE = { name: 1, flags: 2 } as const;
const CHAIN = { table: 1, name: 3, hook: 4, policy: 5, type: 7 } as const;
const HOOK = { number: 1, priority: 2 } as const;
const RULE = { table: 1, chain: 2, userdata: 7 } as const;
/** NF_INET_…, by number, and the policy NF_ACCEPT. */
const HOOKS = ["prerouting", "input", "forward", "output", "postrouting"] as const;
const ACCEPT = 1;

/**
 * The rules of a table, and those of its base chains that have one of these names: a dump would have the chains of all tables, and kube-proxy has
 * thousands. No rules, hooks and flags if the table does not exist. nft 1.0.6 would read all elements of its sets, too (2.5 s for a hundred
 * thousand). Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED.
 */
export async function tableRules(
  family: Family,
  table: string,
  chains: Iterable<string> = [],
): Promise<TableRules> {
  return NetlinkSocket.use(NETLINK.netfilter, async (socket) => {
    const found = await commentsIn(socket, family, table);
    const hasFlags = (await flagsOf(socket, family, table)) !== 0;
    const hooks = new Map<string, string>();
    if (found.rules.length === 0) return { ...found, hooks, hasFlags };
    for (const chain of chains) {
      const hook = await hookOf(socket, family, table, chain);
      if (hook !== undefined) hooks.set(chain, hook);
    }
    return { ...found, hooks, hasFlags };
  });
}

async function commentsIn(
  socket: NetlinkSocket,
  family: Family,
  table: string,
): Promise<Pick<TableRules, "rules" | "chains">> {
  const request = Buffer.concat([header(family), attribute(RULE.table, text(table))]);
  for (let tries = 1; ; tries++) {
    const rules: string[] = [];
    const chains: string[] = [];
    const { errno, interrupted } = await socket.tryDump(GET.rules, request, (payload) => {
      const all = allOf(payload);
      rules.push(commentOf(payload, locate(payload, all, RULE.userdata)));
      chains.push(readText(payload, all, RULE.chain) ?? "");
    });
    if (errno !== 0) throw rejected("list rules", errno);
    if (!interrupted || tries === MOST_DUMPS) return { rules, chains };
  }
}

/** As `TableRules.hooks` has it; undefined if there is no such base chain. */
async function hookOf(
  socket: NetlinkSocket,
  family: Family,
  table: string,
  chain: string,
): Promise<string | undefined> {
  const names = [attribute(CHAIN.table, text(table)), attribute(CHAIN.name, text(chain))];
  let found: string | undefined;
  await askFor(socket, "list a chain", GET.chain, [header(family), ...names], (payload) => {
    const all = allOf(payload);
    const type = readText(payload, all, CHAIN.type);
    const hook = locate(payload, all, CHAIN.hook);
    if (type === undefined || hook === undefined) return;
    const policy = readUint32BE(payload, all, CHAIN.policy);
    found = hookText({
      type,
      hook: HOOKS[readUint32BE(payload, hook, HOOK.number) ?? -1],
      priority: (readUint32BE(payload, hook, HOOK.priority) ?? 0) | 0,
      policy: policy === ACCEPT ? "accept" : "drop",
    });
  });
  return found;
}

async function flagsOf(socket: NetlinkSocket, family: Family, table: string): Promise<number> {
  let flags = 0;
  const request = [header(family), attribute(TABLE.name, text(table))];
  await askFor(socket, "list a table", GET.table, request, (payload) => {
    flags = readUint32BE(payload, allOf(payload), TABLE.flags) ?? 0;
  });
  return flags;
}

/** What does not exist has no answer. */
async function askFor(
  socket: NetlinkSocket,
  what: string,
  type: number,
  request: readonly Buffer[],
  onData: (payload: Buffer) => void,
): Promise<void> {
  const errno = await socket.ask(type, Buffer.concat(request), onData);
  if (errno !== 0 && errno !== constants.errno.ENOENT) throw rejected(what, errno);
}

function header(family: Family): Buffer {
  return Buffer.of(ADDRESS_FAMILY[family], 0, 0, 0);
}

function allOf(payload: Buffer) {
  return { from: HEADER, to: payload.length };
}

/** Dumps, if rules change during each; the last one is taken as it is. */
const MOST_DUMPS = 3;

/** Deletes a table of ours, if it has rules. Returns their number. Rejects as `tableRules` and `execLines` do. */
export async function removeTable(family: Family, table: string): Promise<number> {
  const { rules } = await tableRules(family, table);
  if (rules.length === 0) return 0;
  const word = family === "IPv4" ? "ip" : "ip6";
  await execLines(["nft", "delete", "table", word, table], () => undefined);
  return rules.length;
}
