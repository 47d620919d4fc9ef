import type { Cidr } from "../../../api/cidr.ts";
import type { Part } from "../objects.ts";
import { GUARD, GUARD_EXPLICIT, MASQUERADE, MASQUERADE_EXPLICIT, SERVICES } from "./chain-name.ts";
import type { Jump } from "./object-id.ts";
import { comment, wasAddressedTo } from "./rule.ts";
import type { Rules } from "./rules.ts";

/** Marks our rules in the built-in chains. */
const MARK = comment("clusterset-proxy");
/**
 * An explicit VIP may also be the address of a host, such as an endpoint of another import. Connections that are DNATed to it, or
 * were established before, must not be rejected. The ClusterSet CIDR needs no such exception: it contains only ClusterSetIPs.
 */
const NOBODY_ELSES = "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT";

/** The digest of a jump that is as it should be: there is one, and no rule before it takes its packets. */
export const ONCE = "1";

/** What a digest says about a jump. */
export interface JumpState {
  readonly copies: number;
  /** The rule before it that takes its packets, with that rule's owner. */
  readonly behind?: string | undefined;
}

/** The digest of a jump. */
export function jumpDigest({ copies, behind }: JumpState): string {
  return behind === undefined ? `${copies}` : `${copies} ${behind}`;
}

/** The reverse of `jumpDigest`. */
export function parseJumpDigest(digest: string): JumpState {
  const [copies = "", ...words] = digest.split(" ");
  return { copies: Number(copies), behind: words.length === 0 ? undefined : words.join(" ") };
}

/** The jumps for a ClusterSet CIDR: DNAT for incoming and local connections, masquerading, and the guard. */
export function clusterSetJumps(range: Cidr): Part<Rules>[] {
  return jumpsOf(range, `${MARK} -j ${GUARD}`, MASQUERADE);
}

/** The jumps for a range in which there may be explicit VIPs. Most of its addresses are no VIPs. */
export function explicitJumps(range: Cidr): Part<Rules>[] {
  return jumpsOf(range, `${NOBODY_ELSES} ${MARK} -j ${GUARD_EXPLICIT}`, MASQUERADE_EXPLICIT);
}

function jumpsOf(range: Cidr, guarded: string, masquerade: string): Part<Rules>[] {
  // iptables-save omits a range that contains every address.
  const to = range.bits === 0 ? "" : `-d ${range.text} `;
  const jumps: readonly Jump[] = [
    `filter FORWARD ${to}${guarded}`,
    `filter OUTPUT ${to}${guarded}`,
    `nat PREROUTING ${to}${MARK} -j ${SERVICES}`,
    `nat OUTPUT ${to}${MARK} -j ${SERVICES}`,
    `nat POSTROUTING ${wasAddressedTo(range.text, range.family)} ${MARK} -j ${masquerade}`,
  ];
  return jumps.map((id) => ({ id, digest: ONCE, content: [] }));
}
