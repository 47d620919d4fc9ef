import { addressFromHex } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import { destination } from "../plan/virtual-service.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import { listOf } from "./target.ts";
import { destinationOf } from "./target-index.ts";
import type { Destination, Targets } from "./targets.ts";

/** Why an entry is deleted. */
export type EntryReason = Extract<
  Reason,
  "endpoint-left" | "unanswered" | "endpoint-gone" | "vip-live" | "vip-gone"
>;

/**
 * Tells wrong entries from right ones, by what is live: whatever happened before, what is wrong is found. What a
 * transaction is about to change may be live at any moment, so that only those entries are wrong that are so before and after.
 * What left a moment ago counts only as somebody who may still answer. Meant for one walk through the table; lists are opened when
 * an entry first asks for them.
 *
 * UDP has no connection that could be cut: its entries lead to those who take the traffic now, or go. TCP and
 * SCTP are let be, with three exceptions: what was recorded before its VIP was there and is still waiting for an
 * answer (its every packet would be refused); TCP that nobody has answered, of endpoints that take no connections any
 * more; and TCP to endpoints that no slice lists, where the import asks for a reset.
 */
export class Judge {
  readonly #targets: Targets;
  readonly #lists = new Map<string, ReadonlySet<string>>();
  readonly #departed = new Map<string, readonly string[] | undefined>();
  /** As of which departures that is: endpoints leave while a walk is under way. */
  #version = -1;

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  /** Why the entry is to be deleted; undefined if it is right, or somebody else's. */
  verdict(entry: Entry): EntryReason | undefined {
    const { protocol, original } = entry;
    const place = [original.destination, protocol, original.destinationPort] as const;
    const reason = this.#reason(entry, this.#targets.at(...place));
    if (reason === undefined) return undefined;
    const perhaps = this.#targets.perhapsAt(...place);
    const isRight = perhaps.some((target) => !this.#reason(entry, { kind: "target", target }));
    return isRight ? undefined : reason;
  }

  /** Why the entry is wrong if this is what its VIP and port are. */
  #reason(entry: Entry, found: Destination): EntryReason | undefined {
    const { protocol } = entry;
    if (found.kind === "foreign") return undefined;
    if (!isTranslated(entry)) {
      if (protocol !== "UDP" && !isWaiting(entry)) return undefined;
      if (found.kind === "target") return "vip-live";
      // What an explicit VIP's own host answers is nothing of ours.
      return found.inRange ? "vip-gone" : undefined;
    }
    const { takers, listed } = found.kind === "target" ? found.target : NOBODY;
    if (protocol === "UDP") {
      if (found.kind === "gone") return "vip-gone";
      return this.#leadsTo(takers, entry) ? undefined : "endpoint-left";
    }
    if (isUnanswered(entry)) {
      if (this.#leadsTo(takers, entry) || this.#mayBeAnswered(entry)) return undefined;
      return "unanswered";
    }
    if (listed === undefined || hasEnded(entry)) return undefined;
    return this.#leadsTo(listed, entry) ? undefined : "endpoint-gone";
  }

  /** True if the entry's endpoint is one of a list of `Target`. */
  #leadsTo(list: string, { reply }: Entry): boolean {
    let open = this.#lists.get(list);
    if (open === undefined) {
      open = listOf(list);
      this.#lists.set(list, open);
    }
    return open.has(destination(addressFromHex(reply.source).text, reply.sourcePort));
  }

  /** True if the entry's endpoint took connections until a moment ago, or if that is not known. */
  #mayBeAnswered(entry: Entry): boolean {
    const { protocol, original } = entry;
    const key = destinationOf(original.destination, protocol, original.destinationPort);
    const { departures } = this.#targets;
    if (this.#version !== departures.version) this.#departed.clear();
    this.#version = departures.version;
    if (!this.#departed.has(key)) this.#departed.set(key, departures.of(key));
    const lists = this.#departed.get(key);
    return lists === undefined || lists.some((list) => this.#leadsTo(list, entry));
  }
}

/** What takes the connections of a VIP and port that nobody has. */
const NOBODY: { readonly takers: string; readonly listed?: string } = { takers: "" };

/** False if the answer is expected from the very address and port that was called. */
function isTranslated({ original, reply }: Entry): boolean {
  return reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
}

/** True, without translation, for a connection that was never answered and never will be. */
function isWaiting({ replied, tcp }: Entry): boolean {
  return !replied || tcp === "SYN_SENT";
}

/** True for a TCP connection whose SYN is all that was ever seen of it: no handshake is under way. */
function isUnanswered({ replied, tcp }: Entry): boolean {
  return !replied && tcp === "SYN_SENT";
}

/** True if both sides have said goodbye: the entry only waits for stragglers. */
function hasEnded({ tcp }: Entry): boolean {
  return tcp === "TIME_WAIT" || tcp === "CLOSE";
}
