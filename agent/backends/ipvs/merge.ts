import type { Protocol } from "../../../api/protocol.ts";
import { type DesiredPort, type DesiredVip, isRoundRobin } from "./render.ts";
import {
  type DestinationKey,
  destinationText,
  type HeldDestination,
  NO_VIP,
  type Port,
  type PortKey,
  type Terms,
  type Vip,
  type VirtualServer,
} from "./vip.ts";

/**
 * What a VIP is to be: as desired, or as little as its connections need. A destination that is no longer desired drains: it gets no new connections, and is
 * deleted, as is its server, when the last has ended. Destinations whose connections are not kept are deleted at once. `isInside`: in a ClusterSet CIDR. PURE.
 */
export function mergeVip(before: Vip, desired: DesiredVip | undefined, isInside: boolean): Vip {
  const ports = new Map<PortKey, Port>();
  for (const key of new Set([...before.ports.keys(), ...(desired?.keys() ?? [])])) {
    const port = mergePort(key, before.ports.get(key), desired?.get(key));
    if (port !== undefined) ports.set(key, port);
  }
  return withAddress(ports, desired !== undefined, isInside);
}

/** The VIP without drained destinations that were found to have no connection left, and without what was kept for these only. PURE. */
export function withoutIdle(held: Vip, found: Vip, isInside: boolean): Vip {
  const ports = [...held.ports].flatMap(([key, port]): [PortKey, Port][] => {
    if (port.owner !== "ours" || port.server === undefined) return [[key, port]];
    const now = found.ports.get(key)?.server?.destinations;
    const { terms, destinations } = port.server;
    const busy = [...destinations].filter(
      ([one, { weight }]) => weight > 0 || now?.get(one)?.isIdle === false,
    );
    const server = { terms, destinations: new Map(busy) };
    return busy.length === 0 ? [] : [[key, { ...port, server }]];
  });
  return withAddress(new Map(ports), !held.isLeaving, isInside);
}

/** The address is on the device as long as an import has it, or a server of ours is there. */
function withAddress(ports: ReadonlyMap<PortKey, Port>, isDesired: boolean, isInside: boolean) {
  const isUsed = [...ports.values()].some(({ owner, server }) => owner === "ours" && server);
  const isOnDevice = isDesired || isUsed;
  if (!isOnDevice && ports.size === 0) return NO_VIP;
  const isExplicit = isOnDevice && !isInside;
  return { isOnDevice, isExplicit, isLeaving: isOnDevice && !isDesired, ports };
}

/** The port as it is to be; undefined: nothing of it stays. */
function mergePort(
  key: PortKey,
  before: Port | undefined,
  desired: DesiredPort | "kept" | undefined,
): Port | undefined {
  if (desired === "kept") return before;
  if (before?.owner === "foreign") return { ...before, blocked: desired?.servicePort };
  if (before?.owner === "far" && desired === undefined) return before;
  const [protocol] = key.split(" ");
  const server = mergeServer(protocol as Protocol, before?.server, desired);
  const served = desired && desired.endpoints.size > 0 ? desired.importKey : undefined;
  return server && { owner: "ours", served, server };
}

function mergeServer(
  protocol: Protocol,
  before: VirtualServer | undefined,
  desired: DesiredPort | undefined,
): VirtualServer | undefined {
  const endpoints = desired?.endpoints ?? new Map<DestinationKey, number>();
  const terms = mergeTerms(before?.terms, desired);
  if (terms === undefined) return undefined;
  const destinations = new Map<DestinationKey, HeldDestination>();
  for (const [key, weight] of endpoints)
    destinations.set(key, { weight, isPlain: true, isIdle: false });
  for (const [key, found] of before?.destinations ?? []) {
    if (endpoints.has(key) || found.isIdle || endsAtOnce(protocol, key, desired)) continue;
    destinations.set(key, { ...found, weight: 0 });
  }
  return destinations.size === 0 ? undefined : { terms, destinations };
}

function mergeTerms(before: Terms | undefined, desired: DesiredPort | undefined) {
  if (before === undefined || desired === undefined) return (desired ?? { terms: before }).terms;
  const stays = isRoundRobin(before, desired.terms, desired.endpoints.values());
  return stays ? before : desired.terms;
}

/** Whether connections to a destination end at once. Of a deleted import, TCP's are kept, because its policy is deleted, too. */
function endsAtOnce(
  protocol: Protocol,
  key: DestinationKey,
  desired: DesiredPort | undefined,
): boolean {
  if (protocol === "SCTP") return false;
  const keeps = desired?.keeps;
  return keeps === undefined ? protocol === "UDP" : !keeps.has(destinationText(key));
}
