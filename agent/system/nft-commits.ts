import { locate } from "./netlink/attributes.ts";
import { NETLINK, NetlinkSocket, rejected } from "./netlink/socket.ts";
import { readUint32BE } from "./netlink/values.ts";

/**
 * Counts the transactions that other programs have committed to nftables, so that rules are read back only after one. The
 * kernel counts those of all programs; ours are subtracted.
 */
export class NftCommits {
  readonly #generation: () => Promise<number>;
  #own = 0;
  #inFlight = 0;
  /** Transactions begun; each also makes a count that is under way invalid. */
  #begun = 0;
  #failed = 0;

  /** `generation`: reads the kernel's count. */
  constructor(generation: () => Promise<number> = nftGeneration) {
    this.#generation = generation;
  }

  /** Runs a transaction of ours, which resolves to the number of its commits. */
  async run(transaction: () => Promise<number>): Promise<void> {
    this.#begun++;
    this.#inFlight++;
    try {
      this.#own += await transaction();
    } catch (error) {
      // It is unknown what was committed.
      this.#failed++;
      throw error;
    } finally {
      this.#inFlight--;
    }
  }

  /**
   * Equal results mean that no other program has committed anything between two calls. Undefined if that is unknown: a
   * transaction of ours is in flight, or the kernel does not answer. Never rejects.
   */
  async ofOthers(): Promise<string | undefined> {
    const begun = this.#begun;
    if (this.#inFlight > 0) return undefined;
    // Unknown, so that the caller reads the rules back; what that cannot do either, it reports.
    const generation = await this.#generation().catch(() => undefined);
    if (generation === undefined || this.#begun !== begun) return undefined;
    return `${generation - this.#own} ${this.#failed}`;
  }
}

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
