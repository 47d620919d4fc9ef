import { isAddress, parseAddress } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { destination, type VirtualService } from "../plan/virtual-service.ts";

/**
 * What connection tracking has to know of one port of an import: much less than the service, because it is kept
 * as long as the import lives. Lists are one text each, words apart: a tenth of the memory of as many strings.
 */
export interface Target {
  readonly importKey: ObjectKey;
  /** As `Address.hex`. */
  readonly vips: readonly string[];
  readonly protocol: Protocol;
  readonly port: number;
  /** True if somebody takes new connections. */
  readonly live: boolean;
  /**
   * Whom an entry may lead to, as `destination` spells them: for UDP those that take the traffic, for TCP whose
   * import asks for resets all that are listed. Absent if an entry may lead to anybody.
   */
  readonly allowed?: string;
}

/** What is to be kept of a service. */
export function targetOf(service: VirtualService): Target {
  const { importKey, protocol, port, endpoints, listed } = service;
  const vips = service.vips.flatMap((vip) => {
    const address = parseAddress(vip);
    return isAddress(address) ? [address.hex] : [];
  });
  const live = endpoints.length > 0;
  const common = { importKey, vips, protocol, port, live };
  if (protocol === "UDP") {
    const takers = endpoints.map((endpoint) => destination(endpoint.address, endpoint.port));
    return { ...common, allowed: words(takers) };
  }
  return protocol === "TCP" && listed !== undefined
    ? { ...common, allowed: words(listed) }
    : common;
}

/** Whom an entry may lead to, to look up in. */
export function allowedBy(target: Target): ReadonlySet<string> | undefined {
  return target.allowed === undefined ? undefined : new Set(wordsOf(target.allowed));
}

/** True if somebody to whom an entry might lead `before` is not among those `now`. */
export function loses(before: Target, now: Target): boolean {
  if (now.allowed === undefined || now.allowed === before.allowed) return false;
  if (before.allowed === undefined) return true;
  const allowed = new Set(wordsOf(now.allowed));
  return wordsOf(before.allowed).some((one) => !allowed.has(one));
}

function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}

/** Flat and sorted: equal lists are equal texts, and none keeps the strings alive that it was made of. */
function words(list: readonly string[]): string {
  return [...list].sort().join(" ");
}
