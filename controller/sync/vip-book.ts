import { isAddress, parseAddress } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { reservedIn } from "../allocate/overlaps.ts";
import type { VipPool } from "../allocate/pool.ts";

/**
 * Which addresses are taken, and by whom: VIPs of imports, ClusterIPs of Services, and VIPs that were given, and that no import
 * is seen with yet. No two imports are ever given one address.
 */
export class VipBook {
  readonly #ranges: readonly Cidr[];
  readonly #taken = new Set<string>();
  /** Who has an address. */
  readonly #owners = new Map<string, Set<string>>();
  readonly #addresses = new Map<string, readonly string[]>();
  #reserved: readonly Cidr[] = [];

  constructor(ranges: readonly Cidr[]) {
    this.#ranges = ranges;
  }

  /** What VIPs are taken from, now. It changes with the book. */
  get pool(): VipPool {
    return { ranges: this.#ranges, taken: this.#taken, reserved: this.#reserved };
  }

  /** Ranges that others have: no VIP is taken from them. */
  reserve(others: readonly Cidr[]): void {
    this.#reserved = reservedIn(this.#ranges, others);
  }

  /** These are all addresses that `owner` has; what is no address is nobody's. */
  take(owner: string, addresses: readonly string[]): void {
    for (const address of this.#addresses.get(owner) ?? []) this.#give(owner, address);
    const texts = addresses
      .map(parseAddress)
      .filter(isAddress)
      .map(({ text }) => text);
    if (texts.length === 0) this.#addresses.delete(owner);
    else this.#addresses.set(owner, texts);
    for (const text of texts) {
      this.#owners.set(text, (this.#owners.get(text) ?? new Set()).add(owner));
      this.#taken.add(text);
    }
  }

  #give(owner: string, address: string): void {
    const owners = this.#owners.get(address);
    owners?.delete(owner);
    if (owners === undefined || owners.size > 0) return;
    this.#owners.delete(address);
    this.#taken.delete(address);
  }
}
