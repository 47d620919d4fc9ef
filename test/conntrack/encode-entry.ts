import { encodeName, encodeTuple } from "../../agent/system/conntrack/encoding.ts";
import { type Entry, TCP_STATES } from "../../agent/system/conntrack/entry.ts";
import { attribute, nested } from "../../agent/system/netlink/attributes.ts";
import { uint32BE } from "../../agent/system/netlink/values.ts";

/** `enum ctattr_type`: CTA_TUPLE_REPLY, CTA_STATUS, CTA_PROTOINFO. */
const CTA = { reply: 2, status: 3, protoinfo: 4 } as const;
/** IPS_SEEN_REPLY. */
const SEEN_REPLY = 2;

/** The payload of a NEW message: what `decodeEntry` reads. */
export function encodeEntry(entry: Entry): Buffer {
  const state = entry.tcp === undefined ? [] : [TCP_STATES.indexOf(entry.tcp)];
  return Buffer.concat([
    encodeName(entry),
    encodeTuple(CTA.reply, entry.family, entry.protocol, entry.reply),
    attribute(CTA.status, uint32BE(entry.replied ? SEEN_REPLY : 0)),
    // CTA_PROTOINFO_TCP and CTA_PROTOINFO_TCP_STATE.
    ...state.map((one) => nested(CTA.protoinfo, nested(1, attribute(1, Buffer.of(one))))),
  ]);
}
