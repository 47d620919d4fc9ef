import type { Family } from "../../../api/address.ts";
import { GUARD, MASQUERADE } from "./chain-name.ts";
import { comment, wasAddressedTo } from "./rule.ts";
import type { Jump } from "./tables.ts";

/** What marks our rules in the kernel's own chains. */
const MARK = comment("clusterset-proxy");

/**
 * The jumps for all that is addressed to one range: DNAT for what comes in (PREROUTING) and for the node's
 * own connections (OUTPUT), masquerading after it, and the guard for what was not DNATed. Traffic to other
 * addresses pays one comparison a chain.
 */
export function baseJumps(range: string, dispatch: string, family: Family): Jump[] {
  return [
    `filter FORWARD -d ${range} ${MARK} -j ${GUARD}`,
    `filter OUTPUT -d ${range} ${MARK} -j ${GUARD}`,
    `nat PREROUTING -d ${range} ${MARK} -j ${dispatch}`,
    `nat OUTPUT -d ${range} ${MARK} -j ${dispatch}`,
    `nat POSTROUTING ${wasAddressedTo(range, family)} ${MARK} -j ${MASQUERADE}`,
  ];
}

/** The same without a range: three trees tell what is ours. */
export function treeJumps(dispatch: string, masquerade: string, guard: string): Jump[] {
  return [
    `filter FORWARD ${MARK} -j ${guard}`,
    `filter OUTPUT ${MARK} -j ${guard}`,
    `nat PREROUTING ${MARK} -j ${dispatch}`,
    `nat OUTPUT ${MARK} -j ${dispatch}`,
    `nat POSTROUTING -m conntrack --ctstate DNAT ${MARK} -j ${masquerade}`,
  ];
}
