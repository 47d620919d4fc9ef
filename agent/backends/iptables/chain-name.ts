import { createHash } from "node:crypto";
import { type Address, addressFromHex } from "../../../api/address.ts";
import { widthOf } from "../../../api/cidr.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";

/** The prefix of all our chains. */
export const OWN = "CSP-";
/** nat: rules for VIPs outside the ClusterSet CIDR. */
export const EXPLICIT = "CSP-EXPLICIT";
/** nat: masquerades some connections after our DNAT. */
export const MASQUERADE = "CSP-MASQUERADE";
/** nat: masquerades connections of endpoints to themselves. */
export const HAIRPIN = "CSP-HAIRPIN";
/** nat: as `MASQUERADE` for explicit VIPs, when there are too many for a jump each. */
export const MASQUERADE_EXPLICIT = "CSP-MASQ-EXPLICIT";
/** filter: rejects packets that are still addressed to a VIP after DNAT. */
export const GUARD = "CSP-GUARD";
/** filter: sends the ports of imports at explicit VIPs to the guard. Other ports are the address owner's. */
export const GUARD_EXPLICIT = "CSP-GUARD-EXPLICIT";

/** XT_EXTENSION_MAXNAMELEN without the terminating zero. */
const LONGEST = 28;

/**
 * The chain of one service. `namespace/name:port` does not fit, so the name is a hash: 80 bits of SHA-256, because names come
 * from other clusters, and a collision made on purpose would join two services.
 */
export function serviceChain(
  service: Pick<VirtualService, "importKey" | "protocol" | "port">,
): string {
  const name = `${service.importKey} ${service.protocol} ${service.port}`;
  return `${OWN}SVC-${base32(createHash("sha256").update(name).digest().subarray(0, 10))}`;
}

/**
 * The chain for all VIPs under a prefix: `CSP-241.0.16.0/20`. `infix` distinguishes trees. Dots replace the colons of IPv6,
 * which `nft -f` cannot parse in names; a name that is too long is replaced by a hash.
 */
export function prefixChain(infix: string, range: string): string {
  const name = `${OWN}${infix}${range.replaceAll(":", ".")}`;
  if (name.length <= LONGEST) return name;
  const hash = base32(createHash("sha256").update(range).digest().subarray(0, 10));
  return `${OWN}${infix}${hash}`;
}

/** The range of a prefix of `Address.hex`, as iptables-save prints it. */
export function rangeOf(prefix: string, family: Address["family"]): string {
  const bits = prefix.length * 4;
  const first = addressFromHex(prefix.padEnd(widthOf(family) / 4, "0"));
  return `${first.text}/${bits}`;
}

/** RFC 4648 base32 without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return text;
}
