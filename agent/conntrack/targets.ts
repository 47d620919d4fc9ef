import type { Cidr } from "../../api/cidr.ts";
import type { Protocol } from "../../api/protocol.ts";
import { type Concern, EVERYTHING } from "./concern.ts";
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

/** One time that a destination was given up. */
export interface Former {
  readonly destination: string;
}

/** What the kernel of one family translates: every VIP and port, and what became of those that it had. */
export class Targets {
  readonly #range: Cidr;
  #live: TargetIndex;
  /** True once all that is live was told: until then, what is not known may be right all the same. */
  #whole = false;
  /** Explicit VIPs and ports that were given up: outside of the range, nothing else tells that they were ours. */
  readonly #former = new Map<string, Former>();

  /** `range`: the ClusterSet CIDR of the family. */
  constructor(range: Cidr) {
    this.#range = range;
    this.#live = new TargetIndex(range);
  }

  /** What to collect a proposal in. */
  proposal(): TargetIndex {
    return new TargetIndex(this.#range);
  }

  /**
   * Takes what is live from now on, at a cost in proportion to what is proposed; if it is `complete`, and imports that
   * are not in it are gone, at next to none. Returns which entries that may make wrong; undefined if none.
   */
  accept(proposed: TargetIndex, complete: boolean): Concern | undefined {
    if (complete) {
      for (const destination of this.#live.explicit) {
        if (proposed.at(destination) === undefined) this.#giveUp(destination);
      }
      this.#live = proposed;
      this.#whole = true;
      for (const destination of this.#former.keys()) {
        if (proposed.at(destination) !== undefined) this.#former.delete(destination);
      }
      return EVERYTHING;
    }
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
    for (const [key, targets] of proposed.imports) {
      this.#live.set(key, targets);
      this.#live.drop(key);
      for (const target of targets) {
        for (const destination of destinationsOf(target)) {
          this.#former.delete(destination);
          if (makesWrong(before.get(destination), target)) concerns(destination, target);
        }
      }
    }
    for (const [destination, target] of before) {
      // Connections are kept: whoever gives up an import, gives up its policy.
      if (this.#live.at(destination) !== undefined || target.protocol !== "UDP") continue;
      if (!this.#live.inRange(vipOf(destination))) this.#giveUp(destination);
      concerns(destination, target);
    }
    return protocols.size === 0 ? undefined : { protocols, vips };
  }

  /** What is at this address (`Address.hex`) and port. */
  at(address: string, protocol: Protocol, port: number): Destination {
    const destination = destinationOf(address, protocol, port);
    const target = this.#live.at(destination);
    if (target !== undefined) return { kind: "target", target };
    const inRange = this.#whole && this.#live.inRange(address);
    return inRange || this.#former.has(destination) ? { kind: "gone", inRange } : FOREIGN;
  }

  /** What was given up until now, for `forget`. */
  former(): readonly Former[] {
    return [...this.#former.values()];
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

/** True if entries that were right before may be wrong now, or such as were always wrong may be there. */
function makesWrong(before: Target | undefined, now: Target): boolean {
  return before === undefined || (now.live && !before.live) || loses(before, now);
}
