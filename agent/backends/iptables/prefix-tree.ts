/**
 * The dispatch tree: address prefixes in which no node has more than 16 branches, so that a first packet costs about the same at 10
 * and at 10,000 VIPs.
 *
 * 1. The shape depends only on the set of VIPs, not on their order: a restarted agent renders the same chains.
 * 2. Adding or deleting a VIP changes few nodes; `add` and `delete` record which.
 * 3. It has few nodes, because iptables-nft is slow with many chains: up to 16 VIPs share a leaf, a child with a single VIP is no
 *    node, and levels with one child are skipped (a node's prefix is the longest that its VIPs share).
 *
 * VIPs and prefixes are hexadecimal digits, as in `Address.hex`; a level is one digit. The root is the empty prefix. Only the
 * sorted VIPs are stored; nodes are found by binary search.
 */
export class PrefixTree {
  #vips: string[] = [];
  #touched = new Set<string>();

  /** All VIPs, sorted. */
  get vips(): readonly string[] {
    return this.#vips;
  }

  get size(): number {
    return this.#vips.length;
  }

  /** Adds a VIP that is not in the tree. */
  add(vip: string): void {
    this.#change(vip, () => this.#vips.splice(this.#lowerBound(vip), 0, vip));
  }

  /** Deletes a VIP that is in the tree. */
  delete(vip: string): void {
    this.#change(vip, () => this.#vips.splice(this.#lowerBound(vip), 1));
  }

  /** Records that the rules of a VIP have changed. */
  touch(vip: string): void {
    const holder = this.#path(vip).at(-1);
    if (holder !== undefined) this.#touched.add(holder);
  }

  /** Prefixes whose node may have been changed, added or deleted since the last call. */
  takeTouched(): ReadonlySet<string> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  /** The prefixes of all nodes, the root first. */
  *prefixes(prefix = ""): IterableIterator<string> {
    yield prefix;
    for (const branch of this.#branches(prefix))
      if (branch.kind === "node") yield* this.prefixes(branch.prefix);
  }

  /** The branches of a node, in order; undefined if `prefix` is no node. */
  node(prefix: string): readonly Branch[] | undefined {
    return this.#path(prefix).at(-1) === prefix ? this.#branches(prefix) : undefined;
  }

  #branches(prefix: string): Branch[] {
    const [from, to] = this.#range(prefix);
    if (to - from <= FAN_OUT)
      return this.#vips.slice(from, to).map((vip) => ({ kind: "vip", vip }));
    const branches: Branch[] = [];
    const stem = this.#stem(prefix);
    for (const digit of "0123456789abcdef") {
      const branch = this.#branch(stem + digit);
      if (branch !== undefined) branches.push(branch);
    }
    return branches;
  }

  /** The child with the VIPs under `prefix`. */
  #branch(prefix: string): Branch | undefined {
    const [from, to] = this.#range(prefix);
    const first = this.#vips[from];
    const last = this.#vips[to - 1];
    if (to === from || first === undefined || last === undefined) return undefined;
    if (to - from === 1) return { kind: "vip", vip: first };
    return { kind: "node", prefix: shared(first, last) };
  }

  /** The prefix at which the children of a node branch: its own, or for the root the one that all VIPs share. */
  #stem(prefix: string): string {
    return prefix === "" ? shared(this.#vips[0] ?? "", this.#vips.at(-1) ?? "") : prefix;
  }

  /** The nodes on the path from the root to `target`: a prefix or a VIP, in the tree or not. */
  #path(target: string): string[] {
    const path = [""];
    for (;;) {
      const prefix = path.at(-1) ?? "";
      const [from, to] = this.#range(prefix);
      const stem = this.#stem(prefix);
      if (to - from <= FAN_OUT || stem.length >= target.length) return path;
      const branch = this.#branch(target.slice(0, stem.length + 1));
      if (branch?.kind !== "node" || !target.startsWith(branch.prefix)) return path;
      path.push(branch.prefix);
    }
  }

  #change(vip: string, change: () => void): void {
    this.#note(vip);
    const before = this.#stem("");
    change();
    const after = this.#stem("");
    this.#note(vip);
    // The root branches elsewhere: the children below the longer stem have become a node, or were one.
    const moved = before !== after && this.size > FAN_OUT;
    if (moved) this.#touched.add(before.length > after.length ? before : after);
  }

  /**
   * Records the nodes that adding or deleting `vip` can change; called before and after. Besides the path to it, these are the
   * sibling that it joins, whose prefix changes, and all nodes below one that is split or joined.
   */
  #note(vip: string): void {
    for (const prefix of this.#path(vip)) {
      this.#touched.add(prefix);
      const [from, to] = this.#range(prefix);
      if (to - from === FAN_OUT + 1)
        for (const below of this.prefixes(prefix)) this.#touched.add(below);
      const branch = this.#branch(vip.slice(0, this.#stem(prefix).length + 1));
      if (to - from > FAN_OUT && branch?.kind === "node") this.#touched.add(branch.prefix);
    }
  }

  /** Indexes of the VIPs under `prefix`: from, and one past the last. */
  #range(prefix: string): [from: number, to: number] {
    if (prefix === "") return [0, this.#vips.length];
    // "g" sorts after all hexadecimal digits.
    return [this.#lowerBound(prefix), this.#lowerBound(`${prefix}g`)];
  }

  #lowerBound(text: string): number {
    let low = 0;
    let high = this.#vips.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#vips[middle] ?? "") < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The common prefix of two texts; in sorted texts, the first and the last share what all do. */
function shared(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** A branch of a node: a VIP or a child. */
export type Branch =
  | { readonly kind: "vip"; readonly vip: string }
  | { readonly kind: "node"; readonly prefix: string };

/** The most children of a node, and VIPs of a leaf: one hexadecimal digit. */
const FAN_OUT = 16;
