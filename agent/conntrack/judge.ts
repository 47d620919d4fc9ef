import { addressFromHex } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import { destination } from "../plan/virtual-service.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import { allowedBy, type Target } from "./target.ts";
import type { Targets } from "./targets.ts";

/** Why an entry is deleted. */
export type EntryReason = Extract<
  Reason,
  "endpoint-left" | "endpoint-gone" | "vip-live" | "vip-gone"
>;

/**
 * Tells wrong entries from right ones, by what is live and by nothing else: whatever happened before, what is
 * wrong is found. Meant for one walk through the table; lists are opened when an entry first asks for them.
 *
 * UDP has no connection that could be cut: its entries lead to those who take the traffic now, or go. TCP and
 * SCTP are let be, with two exceptions: what was recorded before its VIP was there and is still waiting for an
 * answer (its every packet would be refused), and TCP to endpoints that no slice lists, where the import asks for a reset.
 */
export class Judge {
  readonly #targets: Targets;
  readonly #allowed = new Map<Target, ReadonlySet<string> | undefined>();

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  /** Why the entry is to be deleted; undefined if it is right, or somebody else's. */
  verdict(entry: Entry): EntryReason | undefined {
    const { protocol, original } = entry;
    const found = this.#targets.at(original.destination, protocol, original.destinationPort);
    if (found.kind === "foreign") return undefined;
    const translated = isTranslated(entry);
    if (found.kind === "gone") {
      // What an explicit VIP's own host answers is nothing of ours.
      if (!found.inRange && !translated) return undefined;
      return protocol === "UDP" || isWaiting(entry, translated) ? "vip-gone" : undefined;
    }
    if (!translated)
      return protocol === "UDP" || isWaiting(entry, translated) ? "vip-live" : undefined;
    const allowed = this.#allowedBy(found.target);
    if (allowed === undefined || hasEnded(entry)) return undefined;
    const { source, sourcePort } = entry.reply;
    if (allowed.has(destination(addressFromHex(source).text, sourcePort))) return undefined;
    return protocol === "UDP" ? "endpoint-left" : "endpoint-gone";
  }

  #allowedBy(target: Target): ReadonlySet<string> | undefined {
    if (this.#allowed.has(target)) return this.#allowed.get(target);
    const allowed = allowedBy(target);
    this.#allowed.set(target, allowed);
    return allowed;
  }
}

/** False if the answer is expected from the very address and port that was called. */
function isTranslated({ original, reply }: Entry): boolean {
  return reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
}

/** True for a connection that was never answered, and, without translation, never will be. */
function isWaiting({ replied, tcp }: Entry, translated: boolean): boolean {
  return !translated && (!replied || tcp === "SYN_SENT");
}

/** True if both sides have said goodbye: the entry only waits for stragglers. */
function hasEnded({ tcp }: Entry): boolean {
  return tcp === "TIME_WAIT" || tcp === "CLOSE";
}
