import { addressFromHex, type Family } from "../../api/address.ts";
import { type Cidr, widthOf } from "../../api/cidr.ts";
import type { NodeFact } from "../model/facts.ts";

/** Addresses of one cluster's endpoints. */
export interface MemberRange {
  /** As nft writes it: `10.2.0.0-10.2.255.255`, or one address. */
  readonly text: string;
  readonly member: string;
}

/** The clusters to which connections are counted, in one family. */
export interface CountedMembers {
  /** IDs, in order. */
  readonly members: readonly string[];
  /** Disjoint, in order. */
  readonly ranges: readonly MemberRange[];
  /** The cluster of all endpoints outside of the ranges; undefined if that is unknown. */
  readonly rest: string | undefined;
}

/** Most other clusters that are counted, those whose IDs come first: each is a time series of every node. */
const MOST_MEMBERS = 256;

/**
 * The clusters that have declared their ranges, and this node's own, by `--pod-cidrs` and the node's pod range. Without `--pod-cidrs`, what no cluster has declared
 * counts as the own cluster's where any has: controllers import only endpoints of clusters that have.
 *
 * Of ranges that overlap, the narrowest counts; of equal ones the own cluster's, then that of the first ID. A range of all addresses says nothing. PURE.
 */
export function countedMembers(node: NodeFact, family: Family): CountedMembers {
  const { cluster, endpointRanges, nodePodCidrs, podCidrs } = node;
  const others = [...endpointRanges.keys()].filter((id) => id !== cluster).sort();
  const peers = others.slice(0, MOST_MEMBERS);
  const own = cluster === undefined ? [] : [cluster];
  // The last of equal ranges counts.
  const declared = [
    ...peers.toReversed().map((id) => [id, endpointRanges.get(id) ?? []] as const),
    ...own.map((id) => [id, [...podCidrs, ...nodePodCidrs]] as const),
  ].flatMap(([member, cidrs]) =>
    cidrs.filter((cidr) => cidr.family === family).map((cidr) => ({ cidr, member })),
  );
  const ranges = declared.filter(({ cidr }) => cidr.bits > 0);
  const isUnknown =
    others.length === 0 ||
    others.length > peers.length ||
    ranges.length < declared.length ||
    podCidrs.some((cidr) => cidr.family === family);
  return {
    members: [...own, ...peers].sort(),
    ranges: disjoint(ranges),
    rest: isUnknown ? undefined : cluster,
  };
}

interface Declared {
  readonly cidr: Cidr;
  readonly member: string;
}

/** Ranges contain each other or are apart: a wider one is what its narrower ones leave of it. */
function disjoint(declared: readonly Declared[]): MemberRange[] {
  const inOrder = declared.toSorted(({ cidr: a }, { cidr: b }) =>
    a.hex === b.hex ? a.bits - b.bits : a.hex < b.hex ? -1 : 1,
  );
  const found: MemberRange[] = [];
  const open: (Declared & { readonly last: bigint })[] = [];
  /** The first address that is in no range so far. */
  let next = 0n;
  const take = (last: bigint, { cidr: { hex }, member }: Declared) => {
    if (next <= last) found.push({ text: rangeText(next, last, hex.length), member });
    next = last + 1n;
  };
  const close = (before?: bigint) => {
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      if (before !== undefined && top.last >= before) return;
      take(top.last, top);
      open.pop();
    }
  };
  for (const one of inOrder) {
    const first = BigInt(`0x${one.cidr.hex}`);
    close(first);
    const around = open.at(-1);
    if (around !== undefined) take(first - 1n, around);
    next = first;
    const size = 1n << BigInt(widthOf(one.cidr.family) - one.cidr.bits);
    open.push({ ...one, last: first + size - 1n });
  }
  close();
  return found;
}

function rangeText(first: bigint, last: bigint, digits: number): string {
  const text = (address: bigint) => addressFromHex(address.toString(16).padStart(digits, "0")).text;
  return first === last ? text(first) : `${text(first)}-${text(last)}`;
}
