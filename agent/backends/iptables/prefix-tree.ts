/**
 * The shape of the dispatch: a tree of address prefixes in which no node looks at more than 16 things, so
 * that a first packet costs the same at 10 and at 10,000 VIPs.
 *
 * 1. The shape depends on the set of VIPs alone, never on the order in which they came: a restarted agent
 *    renders the same chains.
 * 2. A VIP that comes or goes changes a handful of nodes; `add` and `delete` note which.
 * 3. Few nodes, because iptables-nft is slow in the number of chains: up to 16 VIPs share a leaf, a child
 *    with a single VIP is no node, and runs of one-child levels are skipped (a child's prefix is the longest
 *    that its VIPs share; the root branches where all VIPs part, so that it never has a single child).
 *
 * VIPs and prefixes are hexadecimal digits, as in `Address.hex`; a level is one digit, four bits. The root
 * is the empty prefix. Nothing is stored but the sorted VIPs: every node is found by binary search.
 */
export class PrefixTree {
  #vips: string[] = [];
  #touched = new Set<string>();

  get size(): number {
    return this.#vips.length;
  }

  /** Adds a VIP that is not there yet. */
  add(vip: string): void {
    this.#change(vip, () => this.#vips.splice(this.#lowerBound(vip), 0, vip));
  }

  /** Takes a VIP out that is there. */
  delete(vip: string): void {
    this.#change(vip, () => this.#vips.splice(this.#lowerBound(vip), 1));
  }

  /** Notes that what a VIP leads to has changed, though it stays where it is. */
  touch(vip: string): void {
    const holder = this.#path(vip).at(-1);
    if (holder !== undefined) this.#touched.add(holder);
  }

  /** Prefixes whose node may have changed, come or gone since the last call. */
  takeTouched(): ReadonlySet<string> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  /** Every prefix that is a node, the root first. */
  *prefixes(prefix = ""): IterableIterator<string> {
    yield prefix;
    for (const part of this.#parts(prefix))
      if (part.kind === "node") yield* this.prefixes(part.prefix);
  }

  /** What a node looks at, in order; undefined if `prefix` is no node. */
  node(prefix: string): readonly Part[] | undefined {
    return this.#path(prefix).at(-1) === prefix ? this.#parts(prefix) : undefined;
  }

  #parts(prefix: string): Part[] {
    const [from, to] = this.#range(prefix);
    if (to - from <= FAN_OUT)
      return this.#vips.slice(from, to).map((vip) => ({ kind: "vip", vip }));
    const parts: Part[] = [];
    const stem = this.#stem(prefix);
    for (const digit of "0123456789abcdef") {
      const part = this.#part(stem + digit);
      if (part !== undefined) parts.push(part);
    }
    return parts;
  }

  /** The child that holds the VIPs under `prefix`, drawn together to the prefix that they share. */
  #part(prefix: string): Part | undefined {
    const [from, to] = this.#range(prefix);
    const first = this.#vips[from];
    const last = this.#vips[to - 1];
    if (to === from || first === undefined || last === undefined) return undefined;
    if (to - from === 1) return { kind: "vip", vip: first };
    return { kind: "node", prefix: shared(first, last) };
  }

  /** Where the children of a node branch off: at its prefix, or at what all VIPs share for the root. */
  #stem(prefix: string): string {
    return prefix === "" ? shared(this.#vips[0] ?? "", this.#vips.at(-1) ?? "") : prefix;
  }

  /** The nodes on the way from the root to `target` (a VIP, there or not, or a prefix). */
  #path(target: string): string[] {
    const path = [""];
    for (;;) {
      const prefix = path.at(-1) ?? "";
      const [from, to] = this.#range(prefix);
      const stem = this.#stem(prefix);
      if (to - from <= FAN_OUT || stem.length >= target.length) return path;
      const part = this.#part(target.slice(0, stem.length + 1));
      if (part?.kind !== "node" || !target.startsWith(part.prefix)) return path;
      path.push(part.prefix);
    }
  }

  #change(vip: string, change: () => void): void {
    this.#note(vip);
    const before = this.#stem("");
    change();
    const after = this.#stem("");
    this.#note(vip);
    // Where the root branches has moved: what hung below the longer stem has become a node, or was one.
    const moved = before !== after && this.size > FAN_OUT;
    if (moved) this.#touched.add(before.length > after.length ? before : after);
  }

  /**
   * Notes the nodes that can differ between the tree before and after `vip` comes or goes; called on both.
   * Besides the way to it, these are the sibling that it would join (its prefix grows or shrinks), and all
   * below a node that has just been split, or is about to be joined again.
   */
  #note(vip: string): void {
    for (const prefix of this.#path(vip)) {
      this.#touched.add(prefix);
      const [from, to] = this.#range(prefix);
      if (to - from === FAN_OUT + 1)
        for (const below of this.prefixes(prefix)) this.#touched.add(below);
      const part = this.#part(vip.slice(0, this.#stem(prefix).length + 1));
      if (to - from > FAN_OUT && part?.kind === "node") this.#touched.add(part.prefix);
    }
  }

  /** Indexes of the VIPs under `prefix`: from, and one past the last. */
  #range(prefix: string): [from: number, to: number] {
    if (prefix === "") return [0, this.#vips.length];
    // "g" sorts behind every hexadecimal digit.
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

/** The digits that two texts begin with alike; of sorted texts, the first and the last share what all do. */
function shared(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** One thing that a node looks at: a VIP itself, or a further node. */
export type Part =
  | { readonly kind: "vip"; readonly vip: string }
  | { readonly kind: "node"; readonly prefix: string };

/** Children of a node, and VIPs of a leaf: one hexadecimal digit. */
const FAN_OUT = 16;
