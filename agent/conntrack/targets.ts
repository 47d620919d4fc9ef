import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { type Concern, EVERYTHING } from "./concern.ts";
import { type Departure, Departures } from "./departure.ts";
import { loses, type Target } from "./target.ts";
import { destinationOf, destinationsOf, TargetIndex, vipOf } from "./target-index.ts";

/** What an entry may be compared with. */
export type Destination =
  /** An import has it. */
  | { readonly kind: "target"; readonly target: Target }
  /** No import has it: a ClusterSetIP and port, or an explicit VIP's that this process had programmed. */
  | { readonly kind: "gone"; readonly inRange: boolean }
  /** Somebody else's. */
  | { readonly kind: "foreign" };

const FOREIGN: Destination = { kind: "foreign" };

/** What a change may have made wrong. */
export interface Consequences {
  /** At once. */
  readonly wrong?: Concern;
  /** Once it is settled: endpoints that left. */
  readonly departure?: Departure;
}

/** One time that a destination was given up. */
export interface Former {
  readonly destination: string;
}

/** What the kernel of one family translates: every VIP and port, and what became of those that it had. */
export class Targets {
  /** Who left a moment ago; whoever is given a departure says when it is settled. */
  readonly departures = new Departures();
  readonly #range: Cidr;
  #live: TargetIndex;
  /** What a transaction holds that is being made, and one that failed: either may be live, as a whole or in part. */
  #proposed: TargetIndex | undefined;
  #failed: TargetIndex | undefined;
  /** True once all that is live was told: until then, what is not known may be right all the same. */
  #whole = false;
  /** Explicit VIPs and ports that were given up: outside of the range, nothing else tells that they were ours. */
  readonly #former = new Map<string, Former>();

  /** `range`: the ClusterSet CIDR of the family. */
  constructor(range: Cidr) {
    this.#range = range;
    this.#live = new TargetIndex(range);
  }

  /** One import has these targets if the transaction that is being made goes live: from now on, they may take connections. */
  propose(key: ObjectKey, targets: readonly Target[]): void {
    this.#proposed ??= new TargetIndex(this.#range);
    this.#proposed.set(key, targets);
  }

  /**
   * Takes as live what was proposed, at a cost in proportion to it; if that is `complete`, and imports that
   * are not in it are gone, at next to none. Returns which entries that may make wrong, and when.
   */
  accept(complete: boolean): Consequences {
    const proposed = this.#proposed ?? new TargetIndex(this.#range);
    this.#proposed = undefined;
    // After a failure, the next transaction is made from what the kernel holds, and from all that is wanted.
    this.#failed = undefined;
    const consequences = complete ? this.#replace(proposed) : this.#change(proposed);
    if (consequences.departure !== undefined) this.departures.add(consequences.departure);
    return consequences;
  }

  /** What was proposed may be live in part, until another transaction is. */
  fail(): void {
    this.#failed = this.#proposed ?? this.#failed;
    this.#proposed = undefined;
  }

  #replace(proposed: TargetIndex): Consequences {
    for (const destination of this.#live.explicit) {
      if (proposed.at(destination) === undefined) this.#giveUp(destination);
    }
    this.#live = proposed;
    this.#whole = true;
    for (const destination of this.#former.keys()) {
      if (proposed.at(destination) !== undefined) this.#former.delete(destination);
    }
    return { wrong: EVERYTHING, departure: { concern: UNANSWERED } };
  }

  #change(proposed: TargetIndex): Consequences {
    const before = new Map<string, Target>();
    for (const [key] of proposed.imports) {
      for (const target of this.#live.of(key)) {
        for (const destination of destinationsOf(target)) before.set(destination, target);
      }
    }
    const protocols = new Set<Protocol>();
    const vips = new Set<string>();
    const concerns = (destination: string, { protocol }: Target) => {
      protocols.add(protocol);
      vips.add(vipOf(destination));
    };
    const left = new Map<string, string>();
    for (const [key, targets] of proposed.imports) {
      this.#live.set(key, targets);
      this.#live.drop(key);
      for (const target of targets) {
        for (const destination of destinationsOf(target)) {
          this.#former.delete(destination);
          const old = before.get(destination);
          if (makesWrong(old, target)) concerns(destination, target);
          if (old?.protocol === "TCP" && loses(old.takers, target.takers))
            left.set(destination, old.takers);
        }
      }
    }
    for (const [destination, target] of before) {
      if (this.#live.at(destination) !== undefined || target.protocol === "SCTP") continue;
      if (!this.#live.inRange(vipOf(destination))) this.#giveUp(destination);
      // Connections are kept, and only tries go: whoever gives up an import, gives up its policy.
      if (target.protocol === "TCP") left.set(destination, target.takers);
      else concerns(destination, target);
    }
    return {
      ...(protocols.size > 0 && { wrong: { protocols, vips } }),
      ...(this.#whole
        ? left.size > 0 && { departure: departureOf(left) }
        : // Who took connections before this process began is not known yet.
          { departure: { concern: UNANSWERED } }),
    };
  }

  /** What is at this address (`Address.hex`) and port. */
  at(address: string, protocol: Protocol, port: number): Destination {
    const destination = destinationOf(address, protocol, port);
    const target = this.#live.at(destination);
    if (target !== undefined) return { kind: "target", target };
    const inRange = this.#whole && this.#live.inRange(address);
    return inRange || this.#former.has(destination) ? { kind: "gone", inRange } : FOREIGN;
  }

  /** What may be at this address and port beside what is: each is as good as live. */
  perhapsAt(address: string, protocol: Protocol, port: number): readonly Target[] {
    const destination = destinationOf(address, protocol, port);
    return [this.#proposed, this.#failed].flatMap((index) => index?.at(destination) ?? []);
  }

  /** What was given up until now, for `forget`; not where somebody who left may still answer. */
  former(): readonly Former[] {
    return [...this.#former.values()].filter((one) => !this.departures.has(one.destination));
  }

  /** Forgets what was given up and has been looked for, unless it was given up again since. */
  forget(former: readonly Former[]): void {
    for (const one of former) {
      if (this.#former.get(one.destination) === one) this.#former.delete(one.destination);
    }
  }

  #giveUp(destination: string): void {
    this.#former.set(destination, { destination });
  }
}

/** Every try of a connection: after a complete pass, any endpoint may have left. */
const UNANSWERED: Concern = { protocols: new Set<Protocol>(["TCP"]), unanswered: true };

function departureOf(takers: ReadonlyMap<string, string>): Departure {
  const vips = new Set([...takers.keys()].map(vipOf));
  return { concern: { ...UNANSWERED, vips }, takers };
}

/** True if entries that were right before may be wrong now, or such as were always wrong may be there. */
function makesWrong(before: Target | undefined, now: Target): boolean {
  if (before === undefined) return true;
  if (now.takers !== "" && before.takers === "") return true;
  if (now.protocol === "UDP") return loses(before.takers, now.takers);
  if (now.listed === undefined) return false;
  return before.listed === undefined || loses(before.listed, now.listed);
}
