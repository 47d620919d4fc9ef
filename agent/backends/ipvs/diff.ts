import { containsAny } from "../../../api/cidr.ts";
import type { Command, ServerName } from "../../system/ipvs/object.ts";
import { finished } from "../backend.ts";
import { changesOf } from "../nft/elements.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import type { GuardOptions } from "./guard.ts";
import { marksOf } from "./nft-tables.ts";
import { isRoundRobin } from "./render.ts";
import {
  type Blocked,
  type Changes,
  type DesiredServer,
  type DestinationKey,
  destinationOf,
  destinationText,
  isImportKey,
  isOurs,
  type KernelDestination,
  type KernelServer,
  type KernelState,
  sameTerms,
  serverName,
  type Terms,
  vipOf,
} from "./state.ts";
import { IpvsTransaction, type SetChanges } from "./transaction.ts";

/** The changes of one virtual server. */
interface ServerDiff {
  /** Commands that add destinations: before the guard admits new connections. */
  readonly gains: readonly Command[];
  /** Commands that drain or delete destinations: afterwards. */
  readonly losses: readonly Command[];
  /** The server after both; undefined if it is deleted. */
  readonly after: KernelServer | undefined;
}

/**
 * The transaction that makes the kernel hold `changes`. A destination that is no longer desired is drained: it gets no new
 * connections, and is deleted, as is its server, when the last has ended. Destinations whose connections are not kept
 * are deleted at once. PURE.
 */
export function* diff(
  state: KernelState,
  changes: Changes,
  node: GuardOptions,
): Generator<void, IpvsTransaction> {
  const options = state.shared ? { ...node, unbound: true } : node;
  const { family, clusterSetCidrs } = options;
  const servers = new Map<ServiceKey, KernelServer | undefined>();
  const gains: Command[] = [];
  const losses: Command[] = [];
  const served = new Map<ServiceKey, string | undefined>();
  const serve = (key: ServiceKey, importKey: string | undefined) => {
    if (state.sets.served.get(key) !== importKey) served.set(key, importKey);
  };
  const blocked = new Map<ServiceKey, Blocked | undefined>();
  for (const [key, desired] of all(state, changes)) {
    const existing = state.servers.get(key);
    if (existing !== undefined && !isOurs(state, key)) {
      // Another program's server stays; ours waits.
      blocked.set(key, desired);
      serve(key, undefined);
      continue;
    }
    blocked.set(key, undefined);
    const one = diffServer(serverName(key, family), existing, desired);
    gains.push(...one.gains);
    losses.push(...one.losses);
    if (one.gains.length + one.losses.length > 0) servers.set(key, one.after);
    serve(key, desired && desired.endpoints.size > 0 ? desired.importKey : undefined);
    yield;
  }
  const { vips, leaving } = diffVips(state, changes, servers);
  const { complete } = changes;
  const isInside = (hex: string) => containsAny(clusterSetCidrs, { family, text: "", hex });
  const explicit = new Map([...vips].filter(([vip]) => !isInside(vip)));
  const sets: SetChanges = {
    served,
    // A complete diff names all addresses, because another program may have deleted elements.
    explicit: changesOf(state.sets.explicit, explicit, complete),
  };
  const rules = marksOf(options);
  return new IpvsTransaction({
    ...{ state, options, gains, losses, servers, leaving, blocked, sets, rules },
    vips: changesOf(state.vips, vips, complete),
  });
}

/**
 * The transaction that removes drained destinations without connections, and servers that were kept only for these. `found`: the
 * destinations of the servers `drains`, as just read; a missing one has no connection. `bind`: the rules of other backends of
 * ours are removed. PURE.
 */
export function diffGarbage(
  state: KernelState,
  drains: readonly ServiceKey[],
  found: ReadonlyMap<ServiceKey, ReadonlyMap<DestinationKey, KernelDestination>>,
  bind: boolean,
  options: GuardOptions,
): IpvsTransaction {
  const servers = new Map(state.servers);
  const changed = new Map<ServiceKey, DesiredServer | undefined>();
  for (const key of drains) {
    const server = servers.get(key);
    if (server === undefined) continue;
    const now = markIdle(server, found.get(key) ?? new Map());
    if (![...now.destinations.values()].some(({ idle }) => idle)) continue;
    servers.set(key, now);
    changed.set(key, asDesired(now, state.sets.served.get(key)));
  }
  const none = new Map<string, boolean>();
  const changes: Changes = { complete: false, services: changed, vips: none };
  const shared = state.shared && !bind;
  return finished(diff({ ...state, servers, shared }, changes, options));
}

/** The server with those of its draining destinations marked idle that have no connection left. PURE. */
export function markIdle(
  before: KernelServer,
  found: ReadonlyMap<DestinationKey, KernelDestination>,
): KernelServer {
  const destinations = [...before.destinations].map(([key, one]) => {
    if (one.weight !== 0) return [key, one] as const;
    return [key, { ...one, idle: found.get(key)?.idle ?? true }] as const;
  });
  return { ...before, destinations: new Map(destinations) };
}

/** The server as a desired one, with only the destinations that get new connections now. */
function asDesired(existing: KernelServer, importKey = ""): DesiredServer | undefined {
  const { terms, destinations } = existing;
  if (!isImportKey(importKey)) return undefined;
  const taking = [...destinations].filter(([, { weight }]) => weight > 0);
  const endpoints = new Map(taking.map(([key, { weight }]) => [key, weight]));
  const keeps = new Set([...destinations.keys()].map(destinationText));
  return { importKey, servicePort: importKey, terms, endpoints, keeps };
}

/** The servers that `changes` names, without kept ones; if it is complete, also all others of ours. */
function* all(
  state: KernelState,
  { complete, services: named }: Changes,
): Generator<readonly [ServiceKey, DesiredServer | undefined]> {
  const { sets } = state;
  for (const [key, server] of named) if (server !== "kept") yield [key, server];
  if (!complete) return;
  for (const key of new Set([...near(state), ...sets.served.keys()])) {
    if (!named.has(key)) yield [key, undefined];
  }
}

/** Our servers, without those on addresses that this program does not serve. */
function near(state: KernelState): ServiceKey[] {
  const { servers } = state;
  return [...servers.keys()].filter((key) => isOurs(state, key) && !servers.get(key)?.far);
}

function diffServer(
  server: ServerName,
  existing: KernelServer | undefined,
  desired: DesiredServer | undefined,
): ServerDiff {
  const gains: Command[] = [];
  const losses: Command[] = [];
  const endpoints = desired?.endpoints ?? new Map<DestinationKey, number>();
  if (existing === undefined && endpoints.size === 0) return { gains, losses, after: undefined };
  const terms = termsOf(existing, desired);
  if (terms === undefined) return { gains, losses, after: undefined };
  if (existing === undefined) gains.push({ kind: "new-server", server: { ...server, ...terms } });
  else if (!sameTerms(existing.terms, terms))
    gains.push({ kind: "set-server", server: { ...server, ...terms } });
  const before = existing?.destinations ?? new Map<DestinationKey, KernelDestination>();
  const after = new Map<DestinationKey, KernelDestination>();
  for (const [key, weight] of endpoints) {
    const destination = destinationOf(key, weight);
    const found = before.get(key);
    if (found === undefined) gains.push({ kind: "new-destination", server, destination });
    else if (found.weight !== weight || !found.plain)
      gains.push({ kind: "set-destination", server, destination });
    after.set(key, { weight, plain: true, idle: false });
  }
  for (const [key, found] of before) {
    if (endpoints.has(key)) continue;
    const destination = destinationOf(key, 0);
    if (found.idle || endsAtOnce(server, key, desired)) {
      losses.push({ kind: "delete-destination", server, destination });
      continue;
    }
    if (found.weight !== 0) losses.push({ kind: "set-destination", server, destination });
    after.set(key, { ...found, weight: 0 });
  }
  if (after.size > 0) return { gains, losses, after: { terms, destinations: after } };
  losses.push({ kind: "delete-server", server });
  return { gains, losses, after: undefined };
}

function termsOf(
  existing: KernelServer | undefined,
  desired: DesiredServer | undefined,
): Terms | undefined {
  if (existing === undefined || desired === undefined) return (desired ?? existing)?.terms;
  const stays = isRoundRobin(existing.terms, desired.terms, desired.endpoints.values());
  return stays ? existing.terms : desired.terms;
}

/** Whether connections to a destination end at once. Of a deleted import, TCP's are kept, because its policy is deleted, too. */
function endsAtOnce(
  { protocol }: ServerName,
  key: DestinationKey,
  desired: DesiredServer | undefined,
): boolean {
  if (protocol === "SCTP") return false;
  const keeps = desired?.keeps;
  return keeps === undefined ? protocol === "UDP" : !keeps.has(destinationText(key));
}

/**
 * Whether addresses belong on the device: desired ones do, and those with connections. Complete if `changes` is, else only the
 * addresses that may have changed.
 */
function diffVips(
  state: KernelState,
  changes: Changes,
  servers: ReadonlyMap<ServiceKey, KernelServer | undefined>,
): { vips: Map<string, boolean>; leaving: Set<string> } {
  const given = new Set<string>(state.leaving);
  for (const [vip, desired] of changes.vips) {
    if (desired) given.delete(vip);
    else given.add(vip);
  }
  if (changes.complete) {
    // The device may have been deleted: servers with connections are found again by their addresses only.
    const vips = [...state.vips, ...near(state).map(vipOf)];
    for (const vip of vips) if (!changes.vips.has(vip)) given.add(vip);
  }
  const used = usedOf(given, state, servers);
  const vips = new Map(changes.vips);
  for (const vip of given) vips.set(vip, used.has(vip));
  return { vips, leaving: used };
}

/** The addresses on which servers of ours stay. */
function usedOf(
  vips: ReadonlySet<string>,
  state: KernelState,
  servers: ReadonlyMap<ServiceKey, KernelServer | undefined>,
): Set<string> {
  const used = new Set<string>();
  if (vips.size === 0) return used;
  for (const key of state.servers.keys()) {
    const vip = vipOf(key);
    if (!vips.has(vip) || used.has(vip)) continue;
    const goes = servers.has(key) && servers.get(key) === undefined;
    if (!goes && isOurs(state, key)) used.add(vip);
  }
  return used;
}
