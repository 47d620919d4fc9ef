import type { Family } from "../../../api/address.ts";
import { addressFromHex } from "../../../api/address.ts";
import { prefixChain, rangeOf } from "./chain-name.ts";
import type { Branch, PrefixTree } from "./prefix-tree.ts";
import { host } from "./rule.ts";

/** How a tree of VIPs is rendered as chains. */
export interface TreeStyle {
  /** The chain of the root. */
  readonly root: string;
  /** Distinguishes the chains of this tree from those of another in the same table. */
  readonly infix: string;
  /** The match of a range or of a single address, as iptables-save prints it. */
  match(range: string): string;
  /** The rules of a VIP, without `-A`. */
  entries(vip: string): readonly string[];
}

/** The chain of one node of the tree. */
export function treeChain(prefix: string, style: TreeStyle, family: Family): string {
  return prefix === "" ? style.root : prefixChain(style.infix, rangeOf(prefix, family));
}

/** The rules of one node. With `-g`, a packet that no rule matches returns directly to the chain before the tree. */
export function renderNode(
  tree: PrefixTree,
  prefix: string,
  style: TreeStyle,
  family: Family,
): readonly string[] | undefined {
  const name = treeChain(prefix, style, family);
  const rulesOf = (branch: Branch): readonly string[] => {
    if (branch.kind === "vip") return style.entries(branch.vip);
    const range = rangeOf(branch.prefix, family);
    return [`${style.match(range)} -g ${treeChain(branch.prefix, style, family)}`];
  };
  return tree
    .node(prefix)
    ?.flatMap(rulesOf)
    .map((rule) => `-A ${name} ${rule}`);
}

/** A VIP's digits as iptables-save prints a single address. */
export function hostOf(vip: string, family: Family): string {
  return host(addressFromHex(vip).text, family);
}
