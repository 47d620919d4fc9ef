import { isAddress, parseAddress } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { destination, type VirtualService } from "../plan/virtual-service.ts";

/**
 * One port of an import as programmed into the kernel: the part of `VirtualService` that entries are compared with. It is
 * kept as long as the import exists. A list is one text, separated by blanks: a tenth of the memory of an array of strings.
 */
export interface ProgrammedPort {
  readonly importKey: ObjectKey;
  /** As `Address.hex`. */
  readonly vips: readonly string[];
  readonly protocol: Protocol;
  readonly port: number;
  /** Endpoints that take new connections, in the form of `destination`. */
  readonly endpoints: string;
  /** Present if entries of any other endpoint are to be deleted. */
  readonly keeps?: string;
  /** Endpoints that do not answer: there is no answer to wait for. Absent if there are none. */
  readonly unanswering?: string;
}

/** The port of a service. */
export function programmedPort(service: VirtualService): ProgrammedPort {
  const { importKey, protocol, port } = service;
  const vips = service.vips.flatMap((vip) => {
    const address = parseAddress(vip);
    return isAddress(address) ? [address.hex] : [];
  });
  const endpoints = textOf(service.endpoints.map((one) => destination(one.address, one.port)));
  const keeps = keptBy(service, endpoints);
  return {
    ...{ importKey, vips, protocol, port, endpoints },
    ...(keeps !== undefined && { keeps }),
    ...(service.unanswering !== undefined && { unanswering: textOf(service.unanswering) }),
  };
}

function keptBy({ protocol, keeps }: VirtualService, endpoints: string): string | undefined {
  if (protocol === "SCTP" || (protocol === "TCP" && keeps === undefined)) return undefined;
  const all = textOf([...new Set([...(keeps ?? []), ...listOf(endpoints)])]);
  // Usually all ready endpoints take new connections: one text in memory.
  return all === endpoints ? endpoints : all;
}

/** A VIP (`Address.hex`), protocol and port as one text. */
export function destinationOf(vip: string, protocol: Protocol, port: number): string {
  return `${vip} ${protocol} ${port}`;
}

/** The VIP of such a text. */
export function vipOf(destination: string): string {
  return destination.slice(0, destination.indexOf(" "));
}

/** The destinations of a port: one per VIP. */
export function destinationsOf({ vips, protocol, port }: ProgrammedPort): string[] {
  return vips.map((vip) => destinationOf(vip, protocol, port));
}

/** The words of such a list. */
export function listOf(text: string): ReadonlySet<string> {
  return new Set(text === "" ? [] : text.split(" "));
}

/** True if list `before` holds an element that list `now` does not. */
export function loses(before: string, now: string): boolean {
  if (now === before) return false;
  const left = listOf(now);
  return [...listOf(before)].some((one) => !left.has(one));
}

/** Sorted, so that equal lists are equal texts; joined, so that no source string is kept alive. */
function textOf(list: readonly string[]): string {
  return list.toSorted().join(" ");
}
