import { locate } from "./netlink/attributes.ts";
import { NETLINK, NetlinkSocket, rejected } from "./netlink/socket.ts";
import { readUint32BE } from "./netlink/values.ts";

/** NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN. */
const GET_GENERATION = 0xa10;
/** `struct nfgenmsg`: no family, version 0, resource id 0. */
const HEADER = Buffer.alloc(4);
/** `enum nft_gen_attributes`. */
const ID = 1;

/**
 * The generation of this network namespace's nftables ruleset: a number that every committed transaction increments, of any
 * program and any family. Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED.
 */
export async function nftGeneration(): Promise<number> {
  let generation: number | undefined;
  const errno = await NetlinkSocket.use(NETLINK.netfilter, (socket) =>
    socket.ask(GET_GENERATION, HEADER, (payload) => {
      const all = { from: HEADER.length, to: payload.length };
      if (locate(payload, all, ID) !== undefined) generation = readUint32BE(payload, all, ID);
    }),
  );
  if (errno !== 0 || generation === undefined) throw rejected("nftables generation", errno);
  return generation;
}
