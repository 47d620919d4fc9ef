import type { Family } from "../../../api/address.ts";
import { EXPLICIT, GUARD, GUARD_EXPLICIT, MASQUERADE, MASQUERADE_EXPLICIT } from "./chain-name.ts";
import { hostOf, renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { explicitJumps, treeJumps } from "./jumps.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { wasAddressedTo } from "./rule.ts";
import type { ChainKey, Jump, Rules, Table } from "./tables.ts";

/** Jumps of their own that explicit VIPs may have; with more, every packet would pay for all of them. */
const MOST_JUMPS = 16;

/**
 * VIPs outside the ClusterSet CIDR. Up to sixteen get jumps of their own in the kernel's chains, guarded by
 * the address; beyond that, one jump without an address leads to a tree, in each of the three places that must know
 * them: dispatch, masquerading, guard. The guard's jumps leave alone what DNAT has led to such an address.
 */
export class ExplicitVips {
  readonly #family: Family;
  readonly #tree = new PrefixTree();
  readonly #dispatch: TreeStyle;
  readonly #lookups: readonly { readonly table: Table; readonly style: TreeStyle }[];
  #vips = new Set<string>();
  #wide = false;
  #changed = false;

  /** `entries` gives the rules that dispatch a VIP. */
  constructor(family: Family, entries: (vip: string) => readonly string[]) {
    this.#family = family;
    const addressed = (range: string) => `-d ${range}`;
    const wasAddressed = (range: string) => wasAddressedTo(range, family);
    const leadTo = (target: string, match: (range: string) => string) => (vip: string) => [
      `${match(hostOf(vip, family))} -g ${target}`,
    ];
    this.#dispatch = { root: EXPLICIT, infix: "X-", match: addressed, entries };
    this.#lookups = [
      {
        table: "nat",
        style: {
          root: MASQUERADE_EXPLICIT,
          infix: "M-",
          match: wasAddressed,
          entries: leadTo(MASQUERADE, wasAddressed),
        },
      },
      {
        table: "filter",
        style: {
          root: GUARD_EXPLICIT,
          infix: "G-",
          match: addressed,
          entries: leadTo(GUARD, addressed),
        },
      },
    ];
  }

  add(vip: string): void {
    this.#tree.add(vip);
    this.#vips.add(vip);
    this.#changed = true;
  }

  delete(vip: string): void {
    this.#tree.delete(vip);
    this.#vips.delete(vip);
    this.#changed = true;
  }

  touch(vip: string): void {
    this.#tree.touch(vip);
  }

  /** Puts the chains that changed into `chains`; true if the jumps may have changed, too. */
  take(complete: boolean, chains: Map<ChainKey, Rules | undefined>): boolean {
    const wide = this.#vips.size > MOST_JUMPS;
    const turned = wide !== this.#wide;
    const touched = this.#tree.takeTouched();
    const changed = complete || this.#changed;
    this.#wide = wide;
    this.#changed = false;
    const prefixes = complete || turned ? new Set([...this.#tree.prefixes(), ...touched]) : touched;
    for (const prefix of prefixes) {
      this.#put(chains, "nat", this.#dispatch, prefix, this.#vips.size > 0);
      for (const { table, style } of this.#lookups) {
        if (wide || turned) this.#put(chains, table, style, prefix, wide);
      }
    }
    return changed;
  }

  /** The jumps that lead to what `take` last returned. */
  jumps(): Jump[] {
    if (this.#wide) return treeJumps(EXPLICIT, MASQUERADE_EXPLICIT, GUARD_EXPLICIT);
    return [...this.#vips]
      .sort()
      .flatMap((vip) => explicitJumps(hostOf(vip, this.#family), this.#family));
  }

  #put(
    chains: Map<ChainKey, Rules | undefined>,
    table: Table,
    style: TreeStyle,
    prefix: string,
    wanted: boolean,
  ): void {
    const rules = wanted ? renderNode(this.#tree, prefix, style, this.#family) : undefined;
    chains.set(`${table} ${treeChain(prefix, style, this.#family)}`, rules);
  }
}
