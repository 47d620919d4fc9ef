import type { Address, Family } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { type VipHolder, VipHolders } from "../../api/vip-holders.ts";
import type { ImportFact, SliceFact } from "./facts.ts";
import { ListedVips } from "./listed-vips.ts";
import { type Allowance, NO_LIMITS, RuleBudget, type RuleLimits } from "./rule-budget.ts";
import { importCost, leastCost, sliceCost } from "./rule-cost.ts";
import { NO_SILENCE, type Silence, silenceChanges } from "./silence.ts";

/** Input of the plan of one import, besides the node. */
export interface ImportView {
  readonly key: ObjectKey;
  /** Absent if there are slices for an import that does not exist. */
  readonly fact?: ImportFact;
  /** The import's slices, by key. */
  readonly slices: readonly SliceFact[];
  /** The holder of each VIP that this import lists and does not hold. */
  readonly heldBy: ReadonlyMap<string, VipHolder>;
  /** Relevant VIPs that a slice of its namespace lists as endpoint addresses; absent if there are none. */
  readonly listed?: ReadonlySet<string>;
  /** What the import may cost; absent if it costs no more. */
  readonly limit?: Allowance;
  /** Absent while everything answers. */
  readonly silence?: Silence;
  /** The name of the tier that each port used before, by `portInFamily`; absent if it is not known, or no policy depends on it. */
  readonly inUse?: ReadonlyMap<string, string>;
}

/** A port of an import in one family, as a key of `ImportView.inUse`. */
export function portInFamily(port: {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly port: number;
}): string {
  return `${port.family} ${port.protocol} ${port.port}`;
}

/**
 * The facts, indexed by import, and the dirty imports with the time of their oldest change. The cost of a change depends on
 * its import and on imports with the same VIP.
 */
export class Model {
  readonly #imports = new Map<ObjectKey, ImportFact>();
  readonly #slices = new Map<ObjectKey, SliceFact>();
  readonly #slicesOf = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #holders = new VipHolders();
  readonly #listed: ListedVips;
  readonly #budget: RuleBudget;
  /** The cost of each import and its slices. */
  readonly #costs = new Map<ObjectKey, number>();
  #silence = NO_SILENCE;
  #dirty = new Map<ObjectKey, number>();
  /** The time of the last change. */
  #changedAt = 0;

  /** `clusterSetCidrs`: a VIP outside of them must not be an endpoint address of a slice; absent checks no VIP. */
  constructor(clusterSetCidrs?: readonly Cidr[], limits: RuleLimits = NO_LIMITS) {
    this.#budget = new RuleBudget(limits);
    // No slice may list an address in the ClusterSet CIDRs (parse-slice.ts).
    this.#listed = new ListedVips(
      (vip) => clusterSetCidrs?.every((cidr) => !contains(cidr, vip)) ?? false,
    );
  }

  /** Adds or replaces an import. `at`: time of arrival, in milliseconds of the clock. */
  setImport(fact: ImportFact, at: number): void {
    const before = this.#imports.get(fact.key);
    this.#imports.set(fact.key, fact);
    this.#claim(fact.key, fact.headless ? [] : fact.vips, at);
    if (!fact.headless) this.#listed.watch(fact.key, fact.vips);
    this.#unwatch(before);
    let cost = importCost(fact);
    for (const key of this.#slicesOf.get(fact.key) ?? []) {
      const slice = this.#slices.get(key);
      if (slice !== undefined) cost += sliceCost(slice, fact);
    }
    this.#setCost(fact, cost);
  }

  /** Removes an import, if it exists. */
  removeImport(key: ObjectKey, at: number): void {
    const before = this.#imports.get(key);
    if (!this.#imports.delete(key)) return;
    this.#claim(key, [], at);
    this.#unwatch(before);
    if (before !== undefined) this.#setCost(before, 0);
  }

  /** Sets the import that the IPAddress of a VIP names; undefined: there is none. */
  setHolder(vip: string, holder: ObjectKey | undefined, at: number): void {
    this.#touch(this.#holders.record(vip, holder), at);
  }

  /** Every source has listed: from now on, an import that lists a VIP alone is the first. */
  listed(): void {
    this.#holders.listed();
  }

  /** VIPs that several imports list, and of which none is known to be the first. */
  contested(): string[] {
    return this.#holders.contested();
  }

  /** Sets the holder of a contested VIP, if the rules of an earlier run show one. Returns the imports that list the VIP. */
  settle(vip: string, holder: ObjectKey | undefined, at: number): ObjectKey[] {
    if (holder !== undefined) this.#holders.settle(vip, holder);
    const claimants = [...this.#holders.claimants(vip)];
    this.#touch(claimants, at);
    return claimants;
  }

  /** Adds or replaces a slice, which may have moved to another import. */
  setSlice(fact: SliceFact, at: number): void {
    this.removeSlice(fact.key, at);
    this.#slices.set(fact.key, fact);
    const siblings = this.#slicesOf.get(fact.importKey) ?? new Set();
    this.#slicesOf.set(fact.importKey, siblings.add(fact.key));
    this.#touch([fact.importKey], at);
    this.#addCost(fact, 1);
    this.#recount(fact, 1, at);
  }

  /** Removes a slice, if it exists. */
  removeSlice(key: ObjectKey, at: number): void {
    const fact = this.#slices.get(key);
    if (fact === undefined) return;
    this.#slices.delete(key);
    const siblings = this.#slicesOf.get(fact.importKey);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#slicesOf.delete(fact.importKey);
    this.#touch([fact.importKey], at);
    this.#addCost(fact, -1);
    this.#recount(fact, -1, at);
  }

  /** Sets what does not answer. Its cost depends on all slices, because it is rare. */
  setSilence(silence: Silence, at: number): void {
    const { addresses, clusters } = silenceChanges(this.#silence, silence);
    this.#silence = silence;
    if (addresses.size + clusters.size === 0) return;
    for (const { importKey, cluster, endpoints } of this.#slices.values()) {
      const isAffected = clusters.has(cluster ?? "");
      if (isAffected || endpoints.includeAny(addresses)) this.#touch([importKey], at);
    }
  }

  /** Every import, by key. */
  get imports(): ReadonlyMap<ObjectKey, ImportFact> {
    return this.#imports;
  }

  /** Every slice, by key. */
  get slices(): ReadonlyMap<ObjectKey, SliceFact> {
    return this.#slices;
  }

  /** The imports that changed since the last call, with the time of the oldest change of each. */
  takeDirty(): Map<ObjectKey, number> {
    this.#touch([...this.#budget.takeChanged()], this.#changedAt);
    const dirty = this.#dirty;
    this.#dirty = new Map();
    return dirty;
  }

  /** Every key that has a view. */
  *keys(): IterableIterator<ObjectKey> {
    yield* this.#imports.keys();
    for (const key of this.#slicesOf.keys()) if (!this.#imports.has(key)) yield key;
  }

  /** True if there is a slice for an import name. */
  hasSlices(key: ObjectKey): boolean {
    return this.#slicesOf.has(key);
  }

  /** What an import and its slices cost, within its allowance. */
  cost(key: ObjectKey): number {
    return Math.min(this.#costs.get(key) ?? 0, this.#budget.allowance(key).rules);
  }

  /** The view of one import; undefined if there is neither import nor slice. */
  view(key: ObjectKey): ImportView | undefined {
    const fact = this.#imports.get(key);
    const slices = [...(this.#slicesOf.get(key) ?? [])]
      .sort()
      .map((slice) => this.#slices.get(slice))
      .filter((slice) => slice !== undefined);
    if (fact === undefined)
      return slices.length === 0 ? undefined : { key, slices, heldBy: new Map() };
    const heldBy = new Map<string, VipHolder>();
    for (const { text } of fact.vips) {
      const holder = this.#holders.holder(text);
      if (holder !== undefined && holder !== key) heldBy.set(text, holder);
    }
    const listed = this.#listed.among(key, fact.vips, this.#slices.values());
    const limit = this.#budget.allowance(key);
    const isOver = (this.#costs.get(key) ?? 0) > limit.rules;
    return {
      ...{ key, fact, slices, heldBy },
      ...(isOver && { limit }),
      ...(listed.size > 0 && { listed }),
      ...(this.#silence !== NO_SILENCE && { silence: this.#silence }),
    };
  }

  #claim(key: ObjectKey, vips: readonly Address[], at: number): void {
    const texts = vips.map(({ text }) => text);
    this.#touch([key, ...this.#holders.claim(key, texts)], at);
  }

  #unwatch(fact: ImportFact | undefined): void {
    if (fact === undefined) return;
    for (const { text } of fact.vips) {
      if (this.#claimantsBeside(fact.key, text).length === 0) this.#listed.unwatch(fact.key, text);
    }
  }

  /** Imports that claim a VIP are dirty when a slice of their namespace starts or stops listing it. */
  #recount(fact: SliceFact, by: 1 | -1, at: number): void {
    for (const vip of this.#listed.change(fact, by)) {
      this.#touch(this.#claimantsBeside(fact.key, vip), at);
    }
  }

  /** The imports of an object's namespace that claim `vip`. */
  #claimantsBeside(key: ObjectKey, vip: string): ObjectKey[] {
    const { namespace } = namesOf(key);
    return [...this.#holders.claimants(vip)].filter((one) => namesOf(one).namespace === namespace);
  }

  #addCost(slice: SliceFact, by: 1 | -1): void {
    const fact = this.#imports.get(slice.importKey);
    if (fact === undefined) return;
    this.#setCost(fact, (this.#costs.get(fact.key) ?? 0) + by * sliceCost(slice, fact));
  }

  #setCost(fact: ImportFact, cost: number): void {
    const { key, created } = fact;
    if (cost === 0) this.#costs.delete(key);
    else this.#costs.set(key, cost);
    this.#budget.set(key, created, cost, leastCost(fact));
  }

  #touch(keys: readonly ObjectKey[], at: number): void {
    this.#changedAt = at;
    for (const key of keys) this.#dirty.set(key, Math.min(at, this.#dirty.get(key) ?? at));
  }
}
