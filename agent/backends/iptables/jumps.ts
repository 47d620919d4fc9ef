import type { Family } from "../../../api/address.ts";
import { EXPLICIT, GUARD, GUARD_EXPLICIT, MASQUERADE } from "./chain-name.ts";
import type { Jump } from "./object-id.ts";
import { comment, wasAddressedTo } from "./rule.ts";

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

/** The jumps for the ClusterSet CIDR: DNAT for incoming and local connections, masquerading, and the guard. */
export function baseJumps(range: string, dispatch: string, family: Family): Jump[] {
  return [
    `filter FORWARD -d ${range} ${MARK} -j ${GUARD}`,
    `filter OUTPUT -d ${range} ${MARK} -j ${GUARD}`,
    ...natJumps(range, dispatch, family),
  ];
}

/** The jumps for one explicit VIP. */
export function explicitJumps(vip: string, family: Family): Jump[] {
  return [
    `filter FORWARD -d ${vip} ${NOBODY_ELSES} ${MARK} -j ${GUARD_EXPLICIT}`,
    `filter OUTPUT -d ${vip} ${NOBODY_ELSES} ${MARK} -j ${GUARD_EXPLICIT}`,
    ...natJumps(vip, EXPLICIT, family),
  ];
}

/** The jumps to the three trees for many explicit VIPs. */
export function treeJumps(dispatch: string, masquerade: string, guard: string): Jump[] {
  return [
    `filter FORWARD ${NOBODY_ELSES} ${MARK} -j ${guard}`,
    `filter OUTPUT ${NOBODY_ELSES} ${MARK} -j ${guard}`,
    `nat PREROUTING ${MARK} -j ${dispatch}`,
    `nat OUTPUT ${MARK} -j ${dispatch}`,
    `nat POSTROUTING -m conntrack --ctstate DNAT ${MARK} -j ${masquerade}`,
  ];
}

function natJumps(range: string, dispatch: string, family: Family): Jump[] {
  return [
    `nat PREROUTING -d ${range} ${MARK} -j ${dispatch}`,
    `nat OUTPUT -d ${range} ${MARK} -j ${dispatch}`,
    `nat POSTROUTING ${wasAddressedTo(range, family)} ${MARK} -j ${MASQUERADE}`,
  ];
}
