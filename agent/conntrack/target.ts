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
  /** Who takes new connections, as `destination` spells them; empty if nobody does. */
  readonly takers: string;
  /** Present if TCP connections to others are to be reset: every endpoint that a slice lists, spelt alike. */
  readonly listed?: string;
}

/** What is to be kept of a service. */
export function targetOf(service: VirtualService): Target {
  const { importKey, protocol, port, endpoints, listed } = service;
  const vips = service.vips.flatMap((vip) => {
    const address = parseAddress(vip);
    return isAddress(address) ? [address.hex] : [];
  });
  const takers = endpoints.map((endpoint) => destination(endpoint.address, endpoint.port));
  const common = { importKey, vips, protocol, port, takers: textOf(takers) };
  return protocol === "TCP" && listed !== undefined
    ? { ...common, listed: textOf(listed) }
    : common;
}

/** What such a text lists, to look up in. */
export function listOf(text: string): ReadonlySet<string> {
  return new Set(wordsOf(text));
}

/** True if one that such a text listed `before` is not in that of `now`. */
export function loses(before: string, now: string): boolean {
  if (now === before) return false;
  const left = listOf(now);
  return wordsOf(before).some((one) => !left.has(one));
}

function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}

/** Flat and sorted: equal lists are equal texts, and none keeps the strings alive that it was made of. */
function textOf(list: readonly string[]): string {
  return [...list].sort().join(" ");
}
