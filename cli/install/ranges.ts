import { type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, cidrOf, contains, isCidr, overlap, parseCidr } from "../../api/cidr.ts";

/** Ranges of pods, and where they were found. */
export interface FoundRanges {
  readonly ranges: readonly Cidr[];
  /** Such as `kubeadm-config`. */
  readonly from: string;
}

/** Ranges with an owner, for messages. */
export interface OwnedRange {
  /** Such as `pods of cluster c1`. */
  readonly owner: string;
  readonly range: Cidr;
}

/**
 * Where Nodes alone tell: bits of the range that is proposed around their podCIDRs. kube-controller-manager gives each Node a part of
 * one range, of which they are common sizes; Nodes that are added later are then inside.
 */
const AROUND_NODES: Readonly<Record<Family, number>> = { IPv4: 16, IPv6: 48 };

/** The ranges of a text such as `10.1.0.0/16,fd00::/48`; undefined if one is invalid, or there are none. PURE. */
export function rangesIn(text: string): readonly Cidr[] | undefined {
  const ranges: Cidr[] = [];
  for (const part of text.split(",").filter((one) => one.trim() !== "")) {
    const range = parseCidr(part.trim());
    if (!isCidr(range)) return undefined;
    ranges.push(range);
  }
  return ranges.length > 0 ? ranges : undefined;
}

/** Ranges as the annotation has them. PURE. */
export function rangesText(ranges: readonly Cidr[]): string {
  return ranges.map(({ text }) => text).join(",");
}

/** One range of each family around those of Nodes: of the usual size, or larger if they are not in one. PURE. */
export function aroundNodes(podCidrs: readonly Cidr[]): readonly Cidr[] {
  return (["IPv4", "IPv6"] as const).flatMap((family) => {
    const own = podCidrs.filter((one) => one.family === family);
    const [first] = own;
    if (first === undefined) return [];
    let bits = Math.min(AROUND_NODES[family], ...own.map((one) => one.bits));
    const base = parseAddress(first.text.slice(0, first.text.indexOf("/")));
    if (!isAddress(base)) return [];
    while (!own.every((one) => isInside(one, cidrOf(base, bits)))) bits--;
    return [cidrOf(base, bits)];
  });
}

/** True if one range is within another. PURE. */
export function isInside(inner: Cidr, outer: Cidr): boolean {
  const first = { family: inner.family, text: "", hex: inner.hex };
  return inner.bits >= outer.bits && contains(outer, first);
}

/** Addresses outside of the ranges that a text declares for their family; none of a family without ranges. PURE. */
export function outsideOf(declared: string, addresses: readonly string[]): string[] {
  const ranges = rangesIn(declared) ?? [];
  return addresses.filter((text) => {
    const address = parseAddress(text);
    if (!isAddress(address)) return false;
    const ofFamily = ranges.filter(({ family }) => family === address.family);
    return ofFamily.length > 0 && !ofFamily.some((range) => contains(range, address));
  });
}

/** Ranges of one owner. PURE. */
export function owned(owner: string, ranges: readonly Cidr[]): OwnedRange[] {
  return ranges.map((range) => ({ owner, range }));
}

/** Pairs of ranges with different owners that share addresses, as sentences. PURE. */
export function overlapsAmong(ranges: readonly OwnedRange[]): string[] {
  return ranges.flatMap((one, i) =>
    ranges
      .slice(i + 1)
      .filter((other) => other.owner !== one.owner && overlap(one.range, other.range))
      .map(
        (other) => `${one.range.text} (${one.owner}) overlaps ${other.range.text} (${other.owner})`,
      ),
  );
}
