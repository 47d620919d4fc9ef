import { canonicalAddresses, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, containsAny, ofFamily } from "../../api/cidr.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { reservedIn } from "../allocate/overlaps.ts";
import { isUsable, type VipPool } from "../allocate/pool.ts";

/** Begins the owner of a VIP that an import is given. */
const RESERVED = "reserved for ";
/** Begins the owner of the VIPs of an import. */
const IMPORT = "ServiceImport ";

/** The addresses in use, by owner: VIPs of imports, ClusterIPs of Services, and allocated VIPs that are not yet seen. */
export class TakenAddresses {
  /** Called when an address has no owner any more, or is no longer in a reserved range: an import may wait for a free VIP. */
  freed: () => void = () => undefined;
  readonly #ranges: readonly Cidr[];
  /** Owners by address. */
  readonly #owners = new Map<string, Set<string>>();
  /** Addresses by owner. */
  readonly #addresses = new Map<string, readonly string[]>();
  /** Addresses of reservations that are lifted, by owner. */
  readonly #lifted = new Map<string, readonly string[]>();
  #reserved: readonly Cidr[] = [];
  /** Addresses of the first range of a family: VIPs by namespace, and all that are in use. */
  readonly #held = new Map<string, number>();
  readonly #used = new Map<Family, number>();
  #isCounted = true;

  constructor(ranges: readonly Cidr[]) {
    this.#ranges = ranges;
  }

  /** The pool to allocate VIPs from; `taken` is live. */
  get pool(): VipPool {
    return {
      ranges: this.#ranges,
      taken: this.#owners,
      reserved: this.#reserved,
      held: (namespace, family) => this.#held.get(`${family} ${namespace}`) ?? 0,
      used: (family) => this.#usedOf(family),
    };
  }

  #usedOf(family: Family): number {
    if (!this.#isCounted) {
      this.#isCounted = true;
      this.#used.clear();
      for (const address of this.#owners.keys()) this.#countUsed(address, 1);
    }
    return this.#used.get(family) ?? 0;
  }

  /** Sets the ranges that no VIP is allocated from. */
  reserve(others: readonly Cidr[]): void {
    const before = this.#reserved;
    this.#reserved = reservedIn(this.#ranges, others);
    // Counted again when it is needed: thousands of Nodes are listed one by one.
    this.#isCounted = false;
    const reserved = new Set(this.#reserved.map(({ text }) => text));
    if (before.some(({ text }) => !reserved.has(text))) this.freed();
  }

  /** Sets all addresses of an owner. Invalid ones are ignored. */
  take(owner: string, addresses: readonly string[]): void {
    this.#replace(owner, addresses, this.#addresses.get(owner) ?? []);
  }

  /** Sets the VIPs that are given to an import, until it is seen with them. */
  reserveFor(key: ObjectKey, vips: readonly string[]): void {
    const owner = `${RESERVED}${key}`;
    const before = this.#lifted.get(owner) ?? this.#addresses.get(owner) ?? [];
    this.#lifted.delete(owner);
    this.#replace(owner, vips, before);
  }

  /** The VIPs that were given to an import are free while others are chosen for it: `reserveFor` follows. */
  lift(key: ObjectKey): void {
    const owner = `${RESERVED}${key}`;
    this.#lifted.set(owner, this.#addresses.get(owner) ?? []);
    this.#set(owner, []);
  }

  /** `before`: what other imports could not have until now. */
  #replace(owner: string, addresses: readonly string[], before: readonly string[]): void {
    this.#set(owner, canonicalAddresses(addresses));
    if (before.some((one) => !this.#owners.has(one))) this.freed();
  }

  #set(owner: string, addresses: readonly string[]): void {
    for (const address of this.#addresses.get(owner) ?? []) this.#release(owner, address);
    if (addresses.length === 0) this.#addresses.delete(owner);
    else this.#addresses.set(owner, addresses);
    for (const address of addresses) this.#add(owner, address);
  }

  #add(owner: string, address: string): void {
    const owners = this.#owners.get(address) ?? new Set();
    if (owners.size === 0) this.#countUsed(address, 1);
    this.#owners.set(address, owners);
    this.#countHeld(owner, address, owners, 1);
    owners.add(owner);
  }

  #release(owner: string, address: string): void {
    const owners = this.#owners.get(address);
    if (owners?.delete(owner) !== true) return;
    this.#countHeld(owner, address, owners, -1);
    if (owners.size > 0) return;
    this.#owners.delete(address);
    this.#countUsed(address, -1);
  }

  /** Counts an address once for each namespace. `others`: its other owners. */
  #countHeld(owner: string, address: string, others: Iterable<string>, by: 1 | -1): void {
    const family = this.#familyIn(address);
    const namespace = namespaceOf(owner);
    if (family === undefined || namespace === undefined) return;
    if (Iterator.from(others).some((other) => namespaceOf(other) === namespace)) return;
    const name = `${family} ${namespace}`;
    const count = (this.#held.get(name) ?? 0) + by;
    if (count === 0) this.#held.delete(name);
    else this.#held.set(name, count);
  }

  #countUsed(text: string, by: 1 | -1): void {
    if (!this.#isCounted) return;
    const family = this.#familyIn(text);
    const address = parseAddress(text);
    if (family === undefined || !isAddress(address)) return;
    if (!containsAny(this.#reserved, address)) {
      this.#used.set(family, (this.#used.get(family) ?? 0) + by);
    }
  }

  /** The family of an address that can be allocated: in the first range of it. */
  #familyIn(text: string): Family | undefined {
    const address = parseAddress(text);
    if (!isAddress(address)) return undefined;
    const [first] = ofFamily(this.#ranges, address.family);
    return first !== undefined && isUsable(first, address) ? address.family : undefined;
  }
}

/** The namespace of an import, for which an address is in use. */
function namespaceOf(owner: string): string | undefined {
  const prefix = [IMPORT, RESERVED].find((one) => owner.startsWith(one));
  return prefix && namesOf(owner.slice(prefix.length) as ObjectKey).namespace;
}
