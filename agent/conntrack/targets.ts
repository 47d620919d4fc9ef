import type { Address } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { both, type Concern, concernOf, EVERYTHING } from "./concern.ts";
import { loses, type Target } from "./target.ts";

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
  readonly #byImport = new Map<ObjectKey, readonly Target[]>();
  readonly #byDestination = new Map<string, Target>();
  /** Explicit VIPs and UDP ports that were given up: outside of the range, nothing else tells that they were ours. */
  readonly #former = new Map<string, Former>();

  /** `range`: the ClusterSet CIDR of the family. */
  constructor(range: Cidr) {
    this.#range = range;
  }

  /**
   * Takes what is live from now on. `complete`: imports that are not named are gone. Returns which
   * entries that may make wrong; undefined if none.
   */
  accept(
    imports: ReadonlyMap<ObjectKey, readonly Target[]>,
    complete: boolean,
  ): Concern | undefined {
    const before = new Map<string, Target>();
    // All of the old before any of the new: a VIP may have moved from one import to another.
    for (const key of complete ? [...this.#byImport.keys()] : imports.keys()) {
      for (const [destination, target] of destinations(this.#byImport.get(key) ?? [])) {
        before.set(destination, target);
        this.#byDestination.delete(destination);
      }
      this.#byImport.delete(key);
    }
    let concern: Concern | undefined;
    for (const [key, targets] of imports) {
      if (targets.length > 0) this.#byImport.set(key, targets);
      for (const [destination, target, vip] of destinations(targets)) {
        this.#byDestination.set(destination, target);
        this.#former.delete(destination);
        if (makesWrong(before.get(destination), target)) {
          concern = both(concern, concernOf(target.protocol, vip));
        }
        before.delete(destination);
      }
    }
    for (const [destination, { protocol }] of before) {
      // Connections are kept: whoever gives up an import, gives up its policy.
      if (protocol !== "UDP") continue;
      const vip = vipOf(destination);
      if (!this.#inRange(vip)) this.#former.set(destination, { destination });
      concern = both(concern, concernOf(protocol, vip));
    }
    return complete ? EVERYTHING : concern;
  }

  /** What is at this address (`Address.hex`) and port. */
  at(address: string, protocol: Protocol, port: number): Destination {
    const destination = `${address} ${protocol} ${port}`;
    const target = this.#byDestination.get(destination);
    if (target !== undefined) return { kind: "target", target };
    const inRange = this.#inRange(address);
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

  #inRange(hex: string): boolean {
    // Most addresses differ in their first digits; the rest costs ten times as much.
    const digits = this.#range.bits >> 2;
    if (!hex.startsWith(this.#range.hex.slice(0, digits))) return false;
    const address: Address = { family: this.#range.family, text: "", hex };
    return contains(this.#range, address);
  }
}

/** True if entries that were right before may be wrong now, or such as were always wrong may be there. */
function makesWrong(before: Target | undefined, now: Target): boolean {
  return before === undefined || (now.live && !before.live) || loses(before, now);
}

function* destinations(
  targets: readonly Target[],
): IterableIterator<readonly [destination: string, target: Target, vip: string]> {
  for (const target of targets) {
    for (const vip of target.vips) yield [`${vip} ${target.protocol} ${target.port}`, target, vip];
  }
}

function vipOf(destination: string): string {
  return destination.slice(0, destination.indexOf(" "));
}
