import { createHash } from "node:crypto";
import type { VirtualService } from "../../plan/virtual-service.ts";

/** The prefix of all our chains. */
export const OWN = "CSP-";
/** nat: leads to the chain of a service by VIP and port. */
export const SERVICES = "CSP-SERVICES";
/** nat: masquerades some connections after our DNAT. */
export const MASQUERADE = "CSP-MASQUERADE";
/** nat: masquerades connections of endpoints to themselves. */
export const HAIRPIN = "CSP-HAIRPIN";
/** nat: sends connections to explicit VIPs to `MASQUERADE`, and none that another program has DNATed. */
export const MASQUERADE_EXPLICIT = "CSP-MASQ-EXPLICIT";
/** filter: rejects packets that are still addressed to a VIP after DNAT. */
export const GUARD = "CSP-GUARD";
/** filter: sends the ports of imports at explicit VIPs to the guard. Other ports are the address owner's. */
export const GUARD_EXPLICIT = "CSP-GUARD-EXPLICIT";

/**
 * The chain of one service. `namespace/name:port` does not fit into 28 characters, so the name is a hash: 80 bits of SHA-256, because names come
 * from other clusters, and a collision made on purpose would join two services.
 */
export function serviceChain(
  service: Pick<VirtualService, "importKey" | "protocol" | "port">,
): string {
  const name = `${service.importKey} ${service.protocol} ${service.port}`;
  return `${OWN}SVC-${base32(createHash("sha256").update(name).digest().subarray(0, 10))}`;
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
