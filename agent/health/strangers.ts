import type { Overdue, TcpEndpoint } from "./evidence.ts";
import type { Context } from "./picture.ts";
import { endpointName } from "./verdict.ts";

/** Milliseconds for which a group that answers one client shows that another one is not admitted. */
const LATELY_MS = 120_000;
/** Clients that must be unanswered if none of them was ever answered, and the group has answered nobody lately. */
const MIN_STRANGERS = 2;
/** The same where others of the group answer, and clients that these have answered meanwhile. With a policy that rejects some, this is so by chance once in a thousand times. */
const MIN_OF_MANY = { unanswered: 4, answered: 6 };

/** True if the group has answered none of these clients, but others lately. PURE. */
export function areStrangers(tried: readonly Overdue[], { answeredAge, known }: Context): boolean {
  const clients = tried.flatMap((one) => one.clients);
  return answeredAge < LATELY_MS && !clients.some((one) => known.has(one));
}

/** Why these clients say nothing about the group; undefined if they do, because it has answered one of them before or because they are several. PURE. */
export function strangersReason(all: readonly Overdue[], context: Context, hasWitness: boolean) {
  const { group, known, now, reach, hasExpired, hasWaited, rejectedAt, shownAt } = context;
  const isRejected = (it: string) => !known.has(it) && rejectedAt(group, it) > -Infinity;
  const tellingOf = (one: Overdue) =>
    one.clients.filter((it) => hasWaited(one, it, group) && !isRejected(it));
  const tried = all.map((one) => ({ ...one, clients: tellingOf(one) }));
  const clients = new Set(tried.flatMap((one) => one.clients));
  const areRejected = clients.size === 0 && all.some((one) => one.clients.some(isRejected));
  // After a verdict on the group that expired, or on its only endpoint, its answers are older: they say nothing about now.
  const isOlder = hasExpired(group.name) || [...group.members.keys()].every(hasExpired);
  const areNew = areStrangers(tried, context) && !isOlder;
  const isAgain = (one: Overdue) => shownAt(one) !== undefined || hasExpired(endpointName(one));
  const { unanswered, answered } = MIN_OF_MANY;
  const areMany = tried.every(isAgain)
    ? clients.size > 0
    : clients.size >= unanswered && answeredMeanwhile(tried, context) >= answered;
  // A group that has rejected no client lately admits these, too.
  const areAdmitted = areMany && now - rejectedAt(group) > LATELY_MS;
  if (areRejected || (areNew && !areAdmitted)) return "not-admitted";
  if ((!areNew && tried.some(isAgain)) || [...clients].some((one) => known.has(one)))
    return undefined;
  // Clients of another namespace say nothing: it may list what admits none of its pods.
  if (reach === "blind" && all.some((one) => isShared(one, context))) return "strangers";
  if (isOlder) return undefined;
  // A policy of this cluster exempts the pod's own node only: strangers prove nothing.
  if (group.isOwn) return "strangers";
  return areNew || clients.size >= MIN_STRANGERS || hasWitness ? undefined : "strangers";
}

/** Clients that other endpoints of the group have answered since the first of these SYNs. */
function answeredMeanwhile(tried: readonly Overdue[], { answered, group }: Context): number {
  const since = tried.reduce((longest, { age }) => Math.max(longest, age), 0);
  const others = answered.filter((one) => one.age < since && group.members.has(endpointName(one)));
  return new Set(others.map(({ client }) => client)).size;
}

/** True if a slice of another namespace lists the endpoint, too: the kernel does not show whose clients called it. */
function isShared(one: TcpEndpoint, { group, groups }: Context): boolean {
  const name = endpointName(one);
  return groups.some((it) => it.namespace !== group.namespace && it.members.has(name));
}
