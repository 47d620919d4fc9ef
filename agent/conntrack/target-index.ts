import type { Address } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Target } from "./target.ts";

/** A VIP (`Address.hex`), protocol and port as one text. */
export function destinationOf(vip: string, protocol: Protocol, port: number): string {
  return `${vip} ${protocol} ${port}`;
}

/** The VIP of such a text. */
export function vipOf(destination: string): string {
  return destination.slice(0, destination.indexOf(" "));
}

/** The destinations that a target has: one for each of its VIPs. */
export function destinationsOf({ vips, protocol, port }: Target): string[] {
  return vips.map((vip) => destinationOf(vip, protocol, port));
}

/** Targets by import and by destination. */
export class TargetIndex {
  readonly #range: Cidr;
  readonly #byImport = new Map<ObjectKey, readonly Target[]>();
  readonly #byDestination = new Map<string, Target>();
  readonly #explicit = new Set<string>();

  /** `range`: the ClusterSet CIDR of the family. */
  constructor(range: Cidr) {
    this.#range = range;
  }

  /** Says what one import has. An import without targets is remembered until `drop`. */
  set(key: ObjectKey, targets: readonly Target[]): void {
    for (const target of this.of(key)) {
      for (const destination of destinationsOf(target)) {
        // A VIP may have moved to another import, which came first.
        if (this.#byDestination.get(destination) !== target) continue;
        this.#byDestination.delete(destination);
        this.#explicit.delete(destination);
      }
    }
    this.#byImport.set(key, targets);
    for (const target of targets) {
      for (const destination of destinationsOf(target)) {
        this.#byDestination.set(destination, target);
        if (!this.inRange(vipOf(destination))) this.#explicit.add(destination);
      }
    }
  }

  /** Takes an import out that has no targets. */
  drop(key: ObjectKey): void {
    if (this.of(key).length === 0) this.#byImport.delete(key);
  }

  /** Every import that was set. */
  get imports(): Iterable<readonly [ObjectKey, readonly Target[]]> {
    return this.#byImport;
  }

  /** What one import has. */
  of(key: ObjectKey): readonly Target[] {
    return this.#byImport.get(key) ?? [];
  }

  /** Whose a destination is. */
  at(destination: string): Target | undefined {
    return this.#byDestination.get(destination);
  }

  /** Destinations outside of the range. */
  get explicit(): Iterable<string> {
    return this.#explicit;
  }

  /** True if the address (`Address.hex`) lies in the ClusterSet CIDR. */
  inRange(hex: string): boolean {
    // Most addresses differ in their first digits; the rest costs ten times as much.
    const digits = this.#range.bits >> 2;
    if (!hex.startsWith(this.#range.hex.slice(0, digits))) return false;
    const address: Address = { family: this.#range.family, text: "", hex };
    return contains(this.#range, address);
  }
}
