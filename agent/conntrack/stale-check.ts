import { isAddress, parseAddress } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import { destinationOf, listOf } from "./programmed-port.ts";
import type { Lookup, ProgrammedState } from "./programmed-state.ts";

/** Why an entry is deleted. */
export type StaleReason = Extract<
  Reason,
  "endpoint-left" | "unanswered" | "endpoint-gone" | "vip-live" | "vip-gone"
>;

/**
 * Finds stale entries by comparing them with the live state, whatever happened before. Parts of a transaction that is under
 * way may be live already, so an entry is stale only if it is so before and after it. Meant for one scan: endpoint lists
 * are parsed once.
 *
 * UDP entries must lead to an endpoint that is ready, or, if the import says so, that gets new clients. TCP and SCTP entries are kept, with three exceptions: an
 * untranslated entry without an answer (recorded before its VIP was live; all its packets would be rejected), an unanswered
 * TCP entry to an endpoint that takes no new connections, and a TCP entry to an endpoint in no slice, if the import asks
 * for a reset.
 */
export class StaleCheck {
  readonly #state: ProgrammedState;
  readonly #lists = new Map<string, ReadonlySet<string>>();

  constructor(state: ProgrammedState) {
    this.#state = state;
  }

  /** Why the entry is to be deleted; undefined if it is right, or not ours. */
  reasonFor(entry: Entry): StaleReason | undefined {
    const { protocol, original } = entry;
    const key = destinationOf(original.destination, protocol, original.destinationPort);
    const reason = this.#reason(entry, key, this.#state.at(key));
    if (reason === undefined) return undefined;
    const uncommitted = this.#state.uncommittedAt(key);
    const isRight = uncommitted.some((port) => !this.#reason(entry, key, { kind: "port", port }));
    return isRight ? undefined : reason;
  }

  #reason(entry: Entry, key: string, found: Lookup): StaleReason | undefined {
    const { protocol } = entry;
    if (found.kind === "foreign") return undefined;
    if (!isTranslated(entry)) {
      if (protocol !== "UDP" && !isWaiting(entry)) return undefined;
      if (found.kind === "port") return "vip-live";
      // An explicit VIP may be the address of a host, which answers for itself.
      return found.inRange ? "vip-gone" : undefined;
    }
    const { endpoints, keeps } = found.kind === "port" ? found.port : NO_PORT;
    if (protocol === "UDP") {
      if (found.kind === "gone") return "vip-gone";
      return this.#leadsTo(keeps ?? endpoints, entry) ? undefined : "endpoint-left";
    }
    if (isUnanswered(entry)) {
      if (this.#leadsTo(endpoints, entry) || this.#mayBeAnswered(entry, key)) return undefined;
      return "unanswered";
    }
    if (keeps === undefined || hasEnded(entry)) return undefined;
    return this.#leadsTo(keeps, entry) ? undefined : "endpoint-gone";
  }

  /** Whether a list of `ProgrammedPort` holds the entry's endpoint. */
  #leadsTo(list: string, { reply }: Entry): boolean {
    let parsed = this.#lists.get(list);
    if (parsed === undefined) {
      parsed = new Set([...listOf(list)].map(digitsOf));
      this.#lists.set(list, parsed);
    }
    return parsed.has(`${reply.source} ${reply.sourcePort}`);
  }

  #mayBeAnswered(entry: Entry, key: string): boolean {
    const lists = this.#state.removals.endpointsOf(key);
    return lists === undefined || lists.some((list) => this.#leadsTo(list, entry));
  }
}

/** A destination with the address as `Address.hex`, as entries have it: there may be hundreds of thousands. */
function digitsOf(destination: string): string {
  const [, text = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(destination) ?? [];
  const address = parseAddress(text);
  return isAddress(address) ? `${address.hex} ${port}` : destination;
}

const NO_PORT: { readonly endpoints: string; readonly keeps?: string } = { endpoints: "" };

/** False if the reply comes from the address and port that the client called. */
function isTranslated({ original, reply }: Entry): boolean {
  return reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
}

/** No connection was established. */
function isWaiting({ replied, tcp }: Entry): boolean {
  return !replied || tcp === "SYN_SENT";
}

/** TCP without any reply: no handshake is under way. */
function isUnanswered({ replied, tcp }: Entry): boolean {
  return !replied && tcp === "SYN_SENT";
}

function hasEnded({ tcp }: Entry): boolean {
  return tcp === "TIME_WAIT" || tcp === "CLOSE";
}
