import type { Family } from "../../../api/address.ts";
import { type Cidr, cidrOf } from "../../../api/cidr.ts";
import type { Command, ServerName } from "../../system/ipvs/object.ts";
import type { GuardOptions } from "./guard.ts";
import { changesOf, type SetChanges } from "./set-changes.ts";
import {
  type Believed,
  type Blocked,
  type Changes,
  type DestinationKey,
  destinationOf,
  destinationText,
  isOurs,
  type ServerKey,
  type StandingDestination,
  type StandingServer,
  serverName,
  vipOf,
  type WantedServer,
} from "./state.ts";
import { marksOf } from "./tables.ts";
import { IpvsTransaction } from "./transaction.ts";

/** What takes new connections, with the schedulers that we use, all alike. */
const FULL = 1;

/** What becomes of one virtual server. */
interface ServerDiff {
  /** What gives it destinations: before new connections are let in. */
  readonly gains: readonly Command[];
  /** What takes them away: after. */
  readonly losses: readonly Command[];
  /** As it is then; undefined if it is gone. */
  readonly after: StandingServer | undefined;
}

/**
 * What makes `believed` hold `changes`. A destination that leaves keeps its connections: it takes no new ones, and is
 * deleted when the last has ended; a server that nobody wants waits for that, too. Deleted at once is what has no
 * connection to lose: UDP's, and what an import asks to be reset. PURE.
 */
export function diff(believed: Believed, changes: Changes, options: GuardOptions): IpvsTransaction {
  const { family, clusterSetCidr } = options;
  const servers = new Map<ServerKey, StandingServer | undefined>();
  const gains: Command[] = [];
  const losses: Command[] = [];
  const served = new Map<ServerKey, string | undefined>();
  const serve = (key: ServerKey, importKey: string | undefined) => {
    if (believed.sets.served.get(key) !== importKey) served.set(key, importKey);
  };
  const blocked = new Map<ServerKey, Blocked | undefined>();
  for (const [key, wanted] of all(believed, changes)) {
    const standing = believed.servers.get(key);
    if (standing !== undefined && !isOurs(believed, key)) {
      // Somebody else's: it stays, and whoever wants its place has to wait.
      blocked.set(key, wanted);
      serve(key, undefined);
      continue;
    }
    blocked.set(key, undefined);
    const one = diffServer(serverName(key, family), standing, wanted);
    gains.push(...one.gains);
    losses.push(...one.losses);
    if (one.gains.length + one.losses.length > 0) servers.set(key, one.after);
    serve(key, wanted && wanted.endpoints.length > 0 ? wanted.importKey : undefined);
  }
  const { vips, leaving } = diffVips(believed, changes, servers);
  const { complete } = changes;
  const isExplicit = (vip: string) => !isInside(vip, clusterSetCidr, family);
  const explicit = new Map([...vips].filter(([vip]) => isExplicit(vip)));
  const sets: SetChanges = {
    served,
    // All that is on the device then, if all is compared: somebody may have taken an element away.
    explicit: changesOf(believed.sets.explicit, explicit, complete),
    hairpins: changesOf(believed.sets.hairpins, changes.hairpins, complete),
  };
  const rules = marksOf(options);
  return new IpvsTransaction({
    believed,
    options,
    gains,
    losses,
    servers,
    vips: changesOf(believed.vips, vips, complete),
    leaving,
    blocked,
    sets,
    rules,
  });
}

/** What is kept only for connections, and has none left: what removes it. PURE. */
export function diffIdle(believed: Believed, options: GuardOptions): IpvsTransaction {
  const servers = new Map<ServerKey, WantedServer | undefined>();
  for (const [key, standing] of believed.servers) {
    if (![...standing.destinations.values()].some(({ idle }) => idle)) continue;
    if (!isOurs(believed, key) || standing.far) continue;
    const wanted = asItTakes(standing, believed.sets.served.get(key));
    servers.set(key, wanted);
  }
  const none = new Map<string, boolean>();
  const changes: Changes = {
    complete: false,
    servers,
    kept: new Set(),
    vips: none,
    hairpins: none,
  };
  return diff(believed, changes, options);
}

/** What would be wanted if those who take connections now were all that is. */
function asItTakes(
  standing: StandingServer,
  importKey: string | undefined,
): WantedServer | undefined {
  const { terms, destinations } = standing;
  if (importKey === undefined || !isImportKey(importKey)) return undefined;
  const endpoints = [...destinations].flatMap(([key, { weight }]) => (weight > 0 ? [key] : []));
  return { importKey, servicePort: importKey, terms, endpoints };
}

function isImportKey(text: string): text is `${string}/${string}` {
  return text.includes("/");
}

/** What is named, and, if that is all that is wanted, what the kernel has beside it. */
function* all(
  believed: Believed,
  { complete, servers: named, kept }: Changes,
): Generator<readonly [ServerKey, WantedServer | undefined]> {
  const { servers, sets } = believed;
  yield* named;
  if (!complete) return;
  const ours = [...servers.keys()].filter((key) => isOurs(believed, key) && !servers.get(key)?.far);
  for (const key of new Set([...ours, ...sets.served.keys()])) {
    if (!named.has(key) && !kept.has(key)) yield [key, undefined];
  }
}

function diffServer(
  server: ServerName,
  standing: StandingServer | undefined,
  wanted: WantedServer | undefined,
): ServerDiff {
  const gains: Command[] = [];
  const losses: Command[] = [];
  const endpoints = new Set(wanted?.endpoints);
  if (standing === undefined && endpoints.size === 0) return { gains, losses, after: undefined };
  const terms = wanted?.terms ?? standing?.terms;
  if (terms === undefined) return { gains, losses, after: undefined };
  if (standing === undefined) gains.push({ kind: "new-server", server: { ...server, ...terms } });
  else if (!sameTerms(standing.terms, terms))
    gains.push({ kind: "set-server", server: { ...server, ...terms } });
  const before = standing?.destinations ?? new Map<DestinationKey, StandingDestination>();
  const after = new Map<DestinationKey, StandingDestination>();
  for (const key of endpoints) {
    const destination = destinationOf(key, FULL);
    const found = before.get(key);
    if (found === undefined) gains.push({ kind: "new-destination", server, destination });
    else if (found.weight !== FULL || !found.plain)
      gains.push({ kind: "set-destination", server, destination });
    after.set(key, { weight: FULL, plain: true, idle: false });
  }
  for (const [key, found] of before) {
    if (endpoints.has(key)) continue;
    const destination = destinationOf(key, 0);
    if (found.idle || endsAtOnce(server, key, wanted)) {
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

/** Whoever gives up an import gives up its policy, too: its connections are kept. */
function endsAtOnce(
  { protocol }: ServerName,
  key: DestinationKey,
  wanted: WantedServer | undefined,
): boolean {
  if (protocol === "UDP") return true;
  const listed = wanted?.listed;
  return protocol === "TCP" && listed !== undefined && !listed.has(destinationText(key));
}

/**
 * Addresses of the device: those that are wanted, and those that connections still lead to. Named are all of them if
 * `changes` is complete, else those that may have changed.
 */
function diffVips(
  believed: Believed,
  changes: Changes,
  servers: ReadonlyMap<ServerKey, StandingServer | undefined>,
): { vips: Map<string, boolean>; leaving: Set<string> } {
  const given = new Set<string>(believed.leaving);
  for (const [vip, wanted] of changes.vips) {
    if (wanted) given.delete(vip);
    else given.add(vip);
  }
  if (changes.complete) {
    for (const vip of believed.vips) if (!changes.vips.has(vip)) given.add(vip);
  }
  const used = usedOf(given, believed, servers);
  const vips = new Map(changes.vips);
  for (const vip of given) vips.set(vip, used.has(vip));
  return { vips, leaving: used };
}

/** Those of these addresses on which servers of ours stay. */
function usedOf(
  vips: ReadonlySet<string>,
  believed: Believed,
  servers: ReadonlyMap<ServerKey, StandingServer | undefined>,
): Set<string> {
  const used = new Set<string>();
  if (vips.size === 0) return used;
  for (const key of believed.servers.keys()) {
    const vip = vipOf(key);
    if (!vips.has(vip) || used.has(vip)) continue;
    const goes = servers.has(key) && servers.get(key) === undefined;
    if (!goes && isOurs(believed, key)) used.add(vip);
  }
  return used;
}

function sameTerms(a: StandingServer["terms"], b: StandingServer["terms"]): boolean {
  return a.scheduler === b.scheduler && a.flags === b.flags && a.timeout === b.timeout;
}

function isInside(vip: string, cidr: Cidr, family: Family): boolean {
  return cidrOf({ family, text: "", hex: vip }, cidr.bits).hex === cidr.hex;
}
