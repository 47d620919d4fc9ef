import type { Family } from "../../../api/address.ts";
import { EXPLICIT, GUARD, MASQUERADE } from "./chain-name.ts";
import { comment, wasAddressedTo } from "./rule.ts";
import type { Jump } from "./tables.ts";

/** What marks our rules in the kernel's own chains. */
const MARK = comment("clusterset-proxy");
/**
 * An address outside the ClusterSet CIDR may also be somebody's: an endpoint of another import, say. An import
 * that claims it as its VIP must not have the connections reset that DNAT has led there, nor those cut that
 * were there before, whose replies are addressed to it. The CIDR needs no such exception: nothing but
 * ClusterSetIPs is there, and what somebody else DNATs into it is to be refused.
 */
const NOBODY_ELSES = "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT";

/**
 * The jumps for all that is addressed to one range: DNAT for what comes in (PREROUTING) and for the node's
 * own connections (OUTPUT), masquerading after it, and the guard for what was not DNATed. Traffic to other
 * addresses pays one comparison a chain.
 */
export function baseJumps(range: string, dispatch: string, family: Family): Jump[] {
  return [
    `filter FORWARD -d ${range} ${MARK} -j ${GUARD}`,
    `filter OUTPUT -d ${range} ${MARK} -j ${GUARD}`,
    ...natJumps(range, dispatch, family),
  ];
}

/** The same for one explicit VIP, of which the guard sees only what is addressed to it in the first place. */
export function explicitJumps(vip: string, family: Family): Jump[] {
  return [
    `filter FORWARD -d ${vip} ${NOBODY_ELSES} ${MARK} -j ${GUARD}`,
    `filter OUTPUT -d ${vip} ${NOBODY_ELSES} ${MARK} -j ${GUARD}`,
    ...natJumps(vip, EXPLICIT, family),
  ];
}

/** The same for many explicit VIPs, without their addresses: three trees tell what is ours. */
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
