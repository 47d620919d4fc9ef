import { encodeName, encodeTuple } from "../../agent/system/conntrack/encoding.ts";
import { type Entry, TCP_STATES } from "../../agent/system/conntrack/entry.ts";
import { attribute, nested } from "../../agent/system/netlink/attributes.ts";
import { uint32BE } from "../../agent/system/netlink/values.ts";

/** `enum ctattr_type`: CTA_TUPLE_REPLY, CTA_STATUS, CTA_PROTOINFO, CTA_TIMEOUT. */
const CTA = { reply: 2, status: 3, protoinfo: 4, timeout: 7 } as const;
/** IPS_SEEN_REPLY and IPS_ASSURED. */
const [SEEN_REPLY, ASSURED] = [2, 4];

/** The payload of a NEW message: what `decodeEntry` reads. */
export function encodeEntry(entry: Entry): Buffer {
  const status = (entry.replied ? SEEN_REPLY : 0) | (entry.assured ? ASSURED : 0);
  const timeout = entry.secondsLeft === undefined ? [] : [uint32BE(entry.secondsLeft)];
  const state = entry.tcp === undefined ? [] : [TCP_STATES.indexOf(entry.tcp)];
  return Buffer.concat([
    encodeName(entry),
    encodeTuple(CTA.reply, entry.family, entry.protocol, entry.reply),
    attribute(CTA.status, uint32BE(status)),
    ...timeout.map((one) => attribute(CTA.timeout, one)),
    // CTA_PROTOINFO_TCP and CTA_PROTOINFO_TCP_STATE.
    ...state.map((one) => nested(CTA.protoinfo, nested(1, attribute(1, Buffer.of(one))))),
  ]);
}
