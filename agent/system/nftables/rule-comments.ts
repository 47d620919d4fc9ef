import type { Family } from "../../../api/address.ts";
import { attribute, locate } from "../netlink/attributes.ts";
import { NETLINK, NetlinkSocket, rejected } from "../netlink/socket.ts";
import { ADDRESS_FAMILY, text } from "../netlink/values.ts";
import { execLines } from "../run-program.ts";
import { commentOf } from "./element.ts";

/** NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE. */
const GET_RULES = 0xa07;
/** `struct nfgenmsg`: family, version 0, and a resource ID. */
const HEADER = 4;
/** NFTA_RULE_… */
const RULE = { table: 1, userdata: 7 } as const;

/**
 * The comments of all rules of a table, in order, empty for a rule without one; none if the table does not exist. nft 1.0.6 would read all elements of its
 * sets, too (2.5 s for a hundred thousand). Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED.
 */
export async function ruleComments(family: Family, table: string): Promise<string[]> {
  const header = Buffer.of(ADDRESS_FAMILY[family], 0, 0, 0);
  const request = Buffer.concat([header, attribute(RULE.table, text(table))]);
  let comments: string[] = [];
  const errno = await NetlinkSocket.use(NETLINK.netfilter, async (socket) => {
    for (let tries = 1; ; tries++) {
      comments = [];
      const { errno, interrupted } = await socket.tryDump(GET_RULES, request, (payload) => {
        const all = { from: HEADER, to: payload.length };
        comments.push(commentOf(payload, locate(payload, all, RULE.userdata)));
      });
      if (!interrupted || tries === MOST_DUMPS) return errno;
    }
  });
  if (errno !== 0) throw rejected("list rules", errno);
  return comments;
}

/** Dumps, if rules change during each; the last one is taken as it is. */
const MOST_DUMPS = 3;

/** Deletes a table of ours, if it has rules. Returns their number. Rejects as `ruleComments` and `execLines` do. */
export async function removeTable(family: Family, table: string): Promise<number> {
  const rules = await ruleComments(family, table);
  if (rules.length === 0) return 0;
  const word = family === "IPv4" ? "ip" : "ip6";
  await execLines(["nft", "delete", "table", word, table], () => undefined);
  return rules.length;
}
