import type { Family } from "../../../api/address.ts";
import { EXPLICIT, GUARD_EXPLICIT, MASQUERADE, MASQUERADE_EXPLICIT } from "./chain-name.ts";
import { hostOf, renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { explicitJumps, treeJumps } from "./jumps.ts";
import type { Jump, Table } from "./object-id.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { guardEntry } from "./render.ts";
import { wasAddressedTo } from "./rule.ts";
import { chainPart, type Objects } from "./rules.ts";

/** The most VIPs with jumps of their own, because every packet is compared with all of them. */
const MOST_JUMPS = 16;

/**
 * VIPs outside the ClusterSet CIDR. Up to sixteen have jumps of their own in the built-in chains. More share a jump without an
 * address to a tree, one each for dispatch, masquerading and the guard. The guard's chains have only the ports of imports, because the
 * address may be in use otherwise.
 */
export class ExplicitVips {
  readonly #family: Family;
  readonly #tree = new PrefixTree();
  readonly #dispatch: TreeStyle;
  readonly #guard: TreeStyle;
  readonly #masquerade: TreeStyle;
  #wide = false;
  #changed = false;

  /** `entries` gives the rules that dispatch a VIP. */
  constructor(family: Family, entries: (vip: string) => readonly string[]) {
    this.#family = family;
    const addressed = (range: string) => `-d ${range}`;
    const wasAddressed = (range: string) => wasAddressedTo(range, family);
    this.#dispatch = { root: EXPLICIT, infix: "X-", match: addressed, entries };
    this.#guard = {
      ...{ root: GUARD_EXPLICIT, infix: "G-", match: addressed },
      entries: (vip) => entries(vip).map(guardEntry),
    };
    this.#masquerade = {
      ...{ root: MASQUERADE_EXPLICIT, infix: "M-", match: wasAddressed },
      entries: (vip) => [`${wasAddressed(hostOf(vip, family))} -g ${MASQUERADE}`],
    };
  }

  add(vip: string): void {
    this.#tree.add(vip);
    this.#changed = true;
  }

  delete(vip: string): void {
    this.#tree.delete(vip);
    this.#changed = true;
  }

  touch(vip: string): void {
    this.#tree.touch(vip);
  }

  /** Puts the chains that changed into `objects`; true if the jumps may have changed, too. */
  take(complete: boolean, objects: Objects): boolean {
    const wide = this.#tree.size > MOST_JUMPS;
    const turned = wide !== this.#wide;
    const touched = this.#tree.takeTouched();
    const changed = complete || this.#changed;
    this.#wide = wide;
    this.#changed = false;
    const prefixes = complete || turned ? new Set([...this.#tree.prefixes(), ...touched]) : touched;
    for (const prefix of prefixes) {
      const isUsed = this.#tree.size > 0;
      this.#put(objects, "nat", this.#dispatch, prefix, isUsed);
      this.#put(objects, "filter", this.#guard, prefix, isUsed);
      if (wide || turned) this.#put(objects, "nat", this.#masquerade, prefix, wide);
    }
    return changed;
  }

  /** The jumps to the chains of the last `take`. */
  jumps(): Jump[] {
    if (this.#wide) return treeJumps(EXPLICIT, MASQUERADE_EXPLICIT, GUARD_EXPLICIT);
    return this.#tree.vips.flatMap((vip) => explicitJumps(hostOf(vip, this.#family), this.#family));
  }

  #put(objects: Objects, table: Table, style: TreeStyle, prefix: string, isUsed: boolean): void {
    const rules = isUsed ? renderNode(this.#tree, prefix, style, this.#family) : undefined;
    const id = `${table} ${treeChain(prefix, style, this.#family)}` as const;
    objects.set(id, rules && chainPart(id, rules));
  }
}
