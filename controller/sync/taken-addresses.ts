import { canonicalAddresses } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { reservedIn } from "../allocate/overlaps.ts";
import type { VipPool } from "../allocate/pool.ts";

/** Begins the owner of a VIP that an import is given. */
const RESERVED = "reserved for ";

/** The addresses in use, by owner: VIPs of imports, ClusterIPs of Services, and allocated VIPs that are not yet seen. */
export class TakenAddresses {
  /** Called when an address has no owner any more, or is no longer in a reserved range: an import may wait for a free VIP. */
  freed: () => void = () => undefined;
  readonly #ranges: readonly Cidr[];
  /** Owners by address. */
  readonly #owners = new Map<string, Set<string>>();
  /** Addresses by owner. */
  readonly #addresses = new Map<string, readonly string[]>();
  #reserved: readonly Cidr[] = [];

  constructor(ranges: readonly Cidr[]) {
    this.#ranges = ranges;
  }

  /** The pool to allocate VIPs from; `taken` is live. */
  get pool(): VipPool {
    return { ranges: this.#ranges, taken: this.#owners, reserved: this.#reserved };
  }

  /** Sets the ranges that no VIP is allocated from. */
  reserve(others: readonly Cidr[]): void {
    const before = this.#reserved;
    this.#reserved = reservedIn(this.#ranges, others);
    const reserved = new Set(this.#reserved.map(({ text }) => text));
    if (before.some(({ text }) => !reserved.has(text))) this.freed();
  }

  /** Sets all addresses of an owner. Invalid ones are ignored. */
  take(owner: string, addresses: readonly string[]): void {
    const before = this.#addresses.get(owner) ?? [];
    for (const address of before) this.#release(owner, address);
    const texts = canonicalAddresses(addresses);
    if (texts.length === 0) this.#addresses.delete(owner);
    else this.#addresses.set(owner, texts);
    for (const text of texts) {
      this.#owners.set(text, (this.#owners.get(text) ?? new Set()).add(owner));
    }
    // A reservation ends with each reconcile, and begins again.
    if (!owner.startsWith(RESERVED) && before.some((one) => !this.#owners.has(one))) this.freed();
  }

  /** Sets the VIPs that are given to an import, until it is seen with them. */
  reserveFor(key: ObjectKey, vips: readonly string[]): void {
    this.take(`${RESERVED}${key}`, vips);
  }

  #release(owner: string, address: string): void {
    const owners = this.#owners.get(address);
    owners?.delete(owner);
    if (owners?.size === 0) this.#owners.delete(address);
  }
}
