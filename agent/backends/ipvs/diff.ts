import type { Family } from "../../../api/address.ts";
import { type Cidr, cidrOf } from "../../../api/cidr.ts";
import type { Command, ServerName } from "../../system/ipvs/object.ts";
import type { GuardOptions } from "./guard.ts";
import {
  type Believed,
  type Blocked,
  type Changes,
  type DestinationKey,
  destinationOf,
  destinationText,
  type GuardSets,
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
  const served = new Map(believed.sets.served);
  const blocked = new Map<ServerKey, Blocked | undefined>();
  for (const [key, wanted] of all(believed, changes)) {
    const standing = believed.servers.get(key);
    if (standing !== undefined && !isOurs(believed, key)) {
      // Somebody else's: it stays, and whoever wants its place has to wait.
      blocked.set(key, wanted);
      served.delete(key);
      continue;
    }
    blocked.set(key, undefined);
    const one = diffServer(serverName(key, family), standing, wanted);
    gains.push(...one.gains);
    losses.push(...one.losses);
    if (one.gains.length + one.losses.length > 0) servers.set(key, one.after);
    if (wanted === undefined || wanted.endpoints.length === 0) served.delete(key);
    else served.set(key, wanted.importKey);
  }
  const { vips, leaving } = diffVips(believed, changes, servers);
  const hairpins = changed(believed.sets.hairpins, changes.hairpins, changes.complete);
  const sets: GuardSets = {
    served,
    explicit: new Set([...vips].filter((vip) => !isInside(vip, clusterSetCidr, family))),
    hairpins,
  };
  const rules = marksOf(options);
  return new IpvsTransaction({
    believed,
    options,
    gains,
    losses,
    servers,
    vips,
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
    if (!isOurs(believed, key)) continue;
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
  const ours = [...servers.keys()].filter((key) => isOurs(believed, key));
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

/** Addresses of the device: those that are wanted, and those that connections still lead to. */
function diffVips(
  believed: Believed,
  changes: Changes,
  servers: ReadonlyMap<ServerKey, StandingServer | undefined>,
): { vips: Set<string>; leaving: Set<string> } {
  const given = new Set<string>(believed.leaving);
  for (const [vip, wanted] of changes.vips) {
    if (wanted) given.delete(vip);
    else given.add(vip);
  }
  if (changes.complete) {
    for (const vip of believed.vips) if (!changes.vips.has(vip)) given.add(vip);
  }
  const used = new Set<string>();
  for (const key of believed.servers.keys()) {
    if (!isOurs(believed, key) || (servers.has(key) && servers.get(key) === undefined)) continue;
    if (given.has(vipOf(key))) used.add(vipOf(key));
  }
  const vips = changed(believed.vips, changes.vips, changes.complete);
  for (const vip of used) vips.add(vip);
  for (const vip of given) if (!used.has(vip)) vips.delete(vip);
  return { vips, leaving: used };
}

function changed(
  before: ReadonlySet<string>,
  changes: ReadonlyMap<string, boolean>,
  complete: boolean,
): Set<string> {
  const after = new Set(complete ? [] : before);
  for (const [one, wanted] of changes) {
    if (wanted) after.add(one);
    else after.delete(one);
  }
  return after;
}

function sameTerms(a: StandingServer["terms"], b: StandingServer["terms"]): boolean {
  return a.scheduler === b.scheduler && a.flags === b.flags && a.timeout === b.timeout;
}

function isInside(vip: string, cidr: Cidr, family: Family): boolean {
  return cidrOf({ family, text: "", hex: vip }, cidr.bits).hex === cidr.hex;
}
