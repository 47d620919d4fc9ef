import { constants } from "node:os";
import type { Family } from "../../../api/address.ts";
import { CodedError } from "../../../common/errors.ts";
import { AttributeWriter } from "../netlink/attribute-writer.ts";
import { NETLINK, NetlinkSocket, nameOf, rejected } from "../netlink/socket.ts";
import type { Element, ElementChange, SetLayout } from "./element.ts";
import {
  decodeElements,
  encodeChange,
  encodeListRequest,
  MESSAGE,
  type Message,
} from "./encoding.ts";
import { isRefusal } from "./refusal.ts";

/** NFNL_SUBSYS_NFTABLES. */
const NFTABLES = 10;
/** NLM_F_CREATE. */
const CREATE = 0x400;
/** Bytes of a transaction: the socket's buffer has about 208 KB, of which the kernel counts each message's overhead, too. */
const MOST_BYTES = 150_000;
/** Bytes of a message besides its payload. */
const OVERHEAD = 20;
/** Dumps, if the sets change during each; the last one is taken as it is. */
const MOST_DUMPS = 3;

/** An element that was to be deleted does not exist, or its set: rules and time delete elements, too. */
export class MissingElement extends CodedError {}

/** The elements of one table's sets, accessed by netlink, with a socket per call. */
export class NftElements {
  readonly #family: Family;
  readonly #table: string;

  /** `table`: its name without the family. */
  constructor(family: Family, table: string) {
    this.#family = family;
    this.#table = table;
  }

  /**
   * All elements of a set, `undefined` for those with other fields; undefined if the set does not exist. Rejects with CSP_NETLINK_UNAVAILABLE or
   * CSP_NETLINK_FAILED.
   */
  list(set: SetLayout): Promise<(Element | undefined)[] | undefined> {
    const requested = encodeListRequest(this.#family, this.#table, set.name);
    const dump = async (socket: NetlinkSocket) => {
      let elements: (Element | undefined)[] = [];
      for (let i = 0; i < MOST_DUMPS; i++) {
        elements = [];
        const { errno, interrupted } = await socket.tryDump(MESSAGE.list, requested, (payload) => {
          for (const one of decodeElements(payload, this.#family, set)) elements.push(one);
        });
        if (errno === constants.errno.ENOENT) return undefined;
        if (errno !== 0) throw rejected(`list ${set.name}`, errno);
        if (!interrupted) break;
      }
      return elements;
    };
    return NetlinkSocket.use(NETLINK.netfilter, dump, { largeReplies: true });
  }

  /**
   * Makes groups of changes in order, in as few transactions as possible, each with whole groups; one that is too large for any is passed to
   * `large`. Returns the number of transactions without these. Rejects with CSP_NFT_REFUSED if the kernel rejects one, else with
   * CSP_NETLINK_UNAVAILABLE, CSP_NETLINK_FAILED (a `MissingElement`, if one to be deleted is), and as `large` does; the transactions before are then live, and nothing of the failed one.
   */
  async run(
    groups: readonly (readonly ElementChange[])[],
    large: (group: readonly ElementChange[]) => Promise<void>,
  ): Promise<number> {
    let transactions = 0;
    let next: Message[] = [];
    let bytes = 0;
    const writer = new AttributeWriter();
    const flush = async () => {
      if (next.length > 0) transactions++;
      await this.#run(next);
      next = [];
      bytes = 0;
    };
    for (const group of groups) {
      const messages = group.flatMap((one) => encodeChange(this.#family, this.#table, one, writer));
      const size = bytesOf(messages);
      if (bytes + size > MOST_BYTES) await flush();
      if (size > MOST_BYTES) await large(group);
      else {
        next.push(...messages);
        bytes += size;
      }
    }
    await flush();
    return transactions;
  }

  async #run(messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const { errno, at } = await NetlinkSocket.use(NETLINK.netfilter, (socket) =>
      socket.transaction(
        NFTABLES,
        messages.map((one) => ({ ...one, flags: one.type === MESSAGE.add ? CREATE : 0 })),
      ),
    );
    if (errno !== 0) throw this.#errorOf(errno, messages[at]);
  }

  #errorOf(errno: number, message: Message | undefined): CodedError {
    const verb = message?.type === MESSAGE.delete ? "delete elements" : "add elements";
    const what = `nftables: ${this.#table}: ${message === undefined ? "transaction" : verb}: ${nameOf(errno)}`;
    if (errno === constants.errno.ENOENT && message?.type === MESSAGE.delete)
      return new MissingElement("CSP_NETLINK_FAILED", what);
    if (!isRefusal(errno)) return new CodedError("CSP_NETLINK_FAILED", what);
    return new CodedError("CSP_NFT_REFUSED", what, { rejected: true });
  }
}

function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { payload }) => sum + payload.length + OVERHEAD, 0);
}
