import { addressFromHex, type Family, isAddress, parseAddress } from "../../../api/address.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { MASQUERADE } from "./chain-name.ts";
import { renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { renderMasquerade } from "./masquerade.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { renderHairpin } from "./render.ts";
import type { ChainKey, DesiredChain } from "./state.ts";

/**
 * Endpoints that may run on this node, as a tree whose root is the masquerade chain: the first packet of every connection
 * passes through it, and a namespace may claim that any number of addresses is here.
 */
export class Hairpins {
  readonly #family: Family;
  readonly #policy: MasqueradePolicy;
  readonly #style: TreeStyle;
  readonly #tree = new PrefixTree();
  /** By address: the number of imports with this endpoint. */
  readonly #counts = new Map<string, number>();

  constructor(family: Family, policy: MasqueradePolicy) {
    this.#family = family;
    this.#policy = policy;
    this.#style = {
      ...{ root: MASQUERADE, infix: "H-", match: (range) => `-s ${range}` },
      // The rules of the policy follow in the root.
      rootTo: "-j",
      entries: (hex) => [renderHairpin(addressFromHex(hex).text, family)],
    };
  }

  /** The local endpoints of one import changed. */
  change(before: readonly string[], after: readonly string[]): void {
    // In this order, an address that stays is not deleted in between.
    for (const address of after) this.#count(address, 1);
    for (const address of before) this.#count(address, -1);
  }

  /** Puts the chains that changed into `chains`, in steps. */
  *take(complete: boolean, chains: Map<ChainKey, DesiredChain>): Generator<void, void> {
    const touched = this.#tree.takeTouched();
    for (const prefix of complete ? this.#tree.prefixes() : touched) {
      const rules = renderNode(this.#tree, prefix, this.#style, this.#family);
      const chain: ChainKey = `nat ${treeChain(prefix, this.#style, this.#family)}`;
      const isRoot = prefix === "";
      chains.set(chain, isRoot ? renderMasquerade(rules ?? [], this.#policy, this.#family) : rules);
      yield;
    }
  }

  #count(text: string, by: 1 | -1): void {
    const address = parseAddress(text);
    if (!isAddress(address)) return;
    const before = this.#counts.get(address.hex) ?? 0;
    if (before + by === 0) this.#counts.delete(address.hex);
    else this.#counts.set(address.hex, before + by);
    if (before === 0) this.#tree.add(address.hex);
    if (before + by === 0) this.#tree.delete(address.hex);
  }
}
