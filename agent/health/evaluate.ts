import type { Answered, Overdue, ProbeRecord, Reach, TcpEndpoint } from "./evidence.ts";
import { type Context, contextOf, type Picture } from "./picture.ts";
import { areStrangers, strangersReason } from "./strangers.ts";
import { endpointName } from "./verdict.ts";
import type { Group } from "./watched-endpoints.ts";

/** Why an endpoint or a group has a verdict, or none. */
export type Reason =
  /** Too few SYNs to say anything. */
  | "too-early"
  /** The node's probe was answered: the path of some clients may be closed on purpose. */
  | "answers-node"
  /** Probes work here, and a result is missing. */
  | "probe-pending"
  /** Probes work here, and one was not answered. */
  | "probe-silent"
  /** The group answers other clients, and has never answered these. */
  | "not-admitted"
  /** Only clients that were never answered, and too few of them. */
  | "strangers"
  /** Clients decide alone, and the SYNs may be lost. */
  | "too-few-syns"
  /** Clients decide alone: an endpoint that is alive would have answered one of the SYNs. */
  | "clients-unanswered"
  /** No endpoint of the group that was tried has answered. */
  | "group-unanswered";

/** What was found about an endpoint, or about all of a group. */
export interface Finding {
  readonly scope: "endpoint" | "group";
  readonly group: Group;
  /** The overdue endpoints of which it is found. */
  readonly endpoints: readonly TcpEndpoint[];
  /** Names of those that have left a probe or several SYNs unanswered themselves. Clients that the group has never answered show nothing. */
  readonly shown: ReadonlySet<string>;
  /** With a group: names of its endpoints that answer all the same. */
  readonly except?: ReadonlySet<string>;
  readonly isSilent: boolean;
  readonly reason: Reason;
  /** True if a probe would help to decide. */
  readonly wantsProbe: boolean;
  /** True if the endpoint may be alive although probes find it silent, so that clients have to try again soon. */
  readonly isTrial: boolean;
  /** True if it has answered none of these clients, but others in the last two minutes. */
  readonly isOfStrangers: boolean;
}

/** Milliseconds in which a healthy endpoint answers: TCP repeats a SYN after a second (RFC 6298, 2.1). */
const ANSWER_MS = 1_000;
/** Milliseconds in which it answers a repeated SYN, to which a second is added. */
const REPEATED_ANSWER_MS = 250;
/** Milliseconds after which the only SYN of a client that gives up within a second is unanswered: a probe tells whether it was lost. */
const GIVEN_UP_MS = ANSWER_MS + REPEATED_ANSWER_MS;
/** Milliseconds for which the result of a probe counts. */
const PROBE_HOLDS_MS = 3_000;
/** Milliseconds until the next probe of an endpoint, after one that failed on this node. */
const FAILED_PROBE_MS = 1_000;
/** Silent probes in a row that show a dead endpoint on a lossy path. */
const LOSSY_PROBES = 2;
/** SYNs without an answer that exclude loss: with 30 % in each direction, 0.1 % of ten are lost. */
const MANY_SYNS = 10;
/** Milliseconds after which they decide. */
const MANY_SYNS_MS = 1_500;
/** Of first SYNs, the part that is repeated at least after 1.5 s where nothing answers. */
const MIN_REPEATED = 0.25;
/**
 * Repeated SYNs of one slow client, and milliseconds since the first of them, before its next SYN leaves, which is to go elsewhere: 3 s after the first one, and 7 s where
 * answers may be late (Linux before 6.5). Where none was in ten minutes, one repeated SYN suffices: with one lost packet in a thousand, two SYNs are lost once in 250,000 times.
 */
const SLOW = { usual: { repeats: 1, ms: GIVEN_UP_MS }, late: { repeats: 2, ms: 2_250 } };
/** Overdue endpoints that show a silent group. Where a third of it is dead, such as a zone, so many are hit once in 81 times. */
const MIN_TRIED = 4;
/** Milliseconds without an answer after which few witnesses suffice to clients that were never answered: before their SYN at 7 s, which goes elsewhere then. */
const FEW_WITNESSES_MS = 6_000;
/** Milliseconds for which a probe shows whether most of a group is dead. */
const MOSTLY_MS = 10_000;

/** Decides about overdue endpoints and their groups. PURE. */
export function evaluate(picture: Picture): Finding[] {
  const overdue = new Map(picture.overdue.map((one) => [endpointName(one), one]));
  const answers = Map.groupBy(picture.answered, endpointName);
  return picture.groups.flatMap((group) => {
    const tried = [...group.members.keys()].flatMap((name) => overdue.get(name) ?? []);
    const ofGroup = [...group.members.keys()].flatMap((name) => answers.get(name) ?? []);
    const context = contextOf(picture, group, ofGroup);
    const found = tried.map((one) => evaluateEndpoint(one, context));
    if (isGroupSilent(tried, context)) {
      const all = { scope: "group", group, endpoints: tried, wantsProbe: false } as const;
      const isOfStrangers = areStrangers(tried, context);
      const isTrial = context.reach !== "works" || isOfStrangers;
      const reason = "group-unanswered" as const;
      const shown = isOfStrangers ? new Set<string>() : shownBy(found, context);
      return { ...all, shown, isSilent: true, reason, isTrial, isOfStrangers };
    }
    const most = mostly(found, tried, ofGroup, context);
    // What another namespace lists, too, is left out of it.
    const rest = found.filter(({ wantsProbe }) => wantsProbe);
    return widened(found, tried, ofGroup, context) ?? (most ? [most, ...rest] : found);
  });
}

/**
 * Where clients decide alone, all of a group is left but what has answered since the first SYN to a silent endpoint, or, in an attempt, since it was shown silent: the
 * next SYN of a slow client, seconds later, must not go to a sibling that is as dead. An answer of any endpoint ends this, and clients try again after ten seconds.
 */
function widened(
  found: readonly Finding[],
  tried: readonly Overdue[],
  answered: readonly Answered[],
  context: Context,
): Finding | undefined {
  if (context.group.members.size < 2) return undefined;
  const shown = found.findIndex(({ reason }) => reason === "clients-unanswered");
  const finding = found[shown];
  if (finding === undefined) return undefined;
  const [one] = finding.endpoints;
  const since = one && context.shownAt(one);
  const age = since === undefined ? (tried[shown]?.age ?? 0) : context.now - since;
  const except = new Set(answered.filter((one) => one.age < age).map(endpointName));
  const endpoints = tried.filter((one) => !except.has(endpointName(one)));
  const reason = "group-unanswered";
  return {
    ...{ ...finding, scope: "group", endpoints, reason, isTrial: true },
    shown: shownBy(found, context).difference(except),
    ...(except.size > 0 && { except }),
  };
}

/**
 * Most of a group is dead, such as the replicas on three of four nodes: all of it is left, except for those that answer. To find each of a hundred
 * endpoints by itself would take half a minute, and cost a connection each.
 */
function mostly(
  found: readonly Finding[],
  tried: readonly Overdue[],
  answered: readonly Answered[],
  context: Context,
): Finding | undefined {
  const { group, now, probes } = context;
  const [first, ...more] = found.filter(({ isSilent }) => isSilent);
  if (first === undefined || context.isLossy(group)) return undefined;
  const recent = [...group.members.keys()].flatMap((name) => {
    const probe = probes.get(name);
    return probe && probe.ended >= now - MOSTLY_MS ? [{ ...probe, name }] : [];
  });
  const answers = [
    ...answered.map((one) => [endpointName(one), now - one.age] as const),
    ...recent.map(({ name, accepted }) => [name, accepted] as const),
  ];
  const answeredAt = new Map(answers.toSorted(([, a], [, b]) => a - b));
  const telling = recent
    .filter((one) => first.reason === "probe-silent" && isTelling(one, tried, context))
    .filter(({ name, begun }) => begun > (answeredAt.get(name) ?? -Infinity));
  const endpoints = [first, ...more].flatMap((one) => one.endpoints);
  const dead = new Set([...endpoints.map(endpointName), ...telling.map(({ name }) => name)]);
  // Those that are alive are counted for as long as those that are dead.
  const times = [...tried.map(({ age }) => now - age), ...telling.map(({ begun }) => begun)];
  const since = times.reduce((least, one) => Math.min(least, one), now);
  const answering = [...answeredAt].filter(([, at]) => at > since).map(([name]) => name);
  const alive = new Set(answering).difference(dead);
  if (dead.size < MIN_TRIED || dead.size < alive.size) return undefined;
  const except = alive.union(closedOf(context).difference(dead));
  return { ...first, scope: "group", endpoints, shown: dead, except, reason: "group-unanswered" };
}

function evaluateEndpoint(one: Overdue, context: Context): Finding {
  const { group, reach } = context;
  const reason = reasonOf(one, context);
  const isSilent = reason === "probe-silent" || reason === "clients-unanswered";
  // A policy that has arrived since the calibration looks like a death to strangers and probes.
  const isOfStrangers = areStrangers([one], context);
  const isShown = isOfStrangers
    ? reason === "clients-unanswered"
    : isSilent || reason === "too-few-syns";
  return {
    ...{ scope: "endpoint", group, endpoints: [one], isSilent, reason, isOfStrangers },
    shown: new Set(isShown ? [endpointName(one)] : []),
    wantsProbe: !isSilent && reason !== "too-early" && isProbeDue(one, context),
    isTrial: reach !== "works" || isOfStrangers || reason === "clients-unanswered",
  };
}

/** Names of the endpoints of a group that were tried, by clients or by probes, and are silent. */
function shownBy(found: readonly Finding[], { group, now, probes, reach }: Context): Set<string> {
  const shown = new Set(found.flatMap((one) => [...one.shown]));
  if (reach !== "works" && reach !== "assumed") return shown;
  for (const name of group.members.keys()) {
    const probe = probes.get(name);
    if (probe?.result !== "silent" || probe.isClosed) continue;
    if (now - probe.ended < PROBE_HOLDS_MS) shown.add(name);
  }
  return shown;
}

/** Names of the endpoints of a group that answer clients, but no probes: these do not show whether they are alive. */
function closedOf({ group, probes }: Context): Set<string> {
  const names = [...group.members.keys()];
  return new Set(names.filter((name) => probes.get(name)?.isClosed === true));
}

function reasonOf(one: Overdue, context: Context): Reason {
  const { group, now } = context;
  const probe = context.probes.get(endpointName(one));
  const reachable = reachOf(probe, context);
  const isProbed = reachable === "works" || reachable === "assumed";
  if (!isSuspect(one) && !(isProbed && one.age >= GIVEN_UP_MS)) return "too-early";
  const isRecent = probe !== undefined && now - probe.ended < PROBE_HOLDS_MS;
  if (isRecent && probe.result === "accepted" && probe.ended >= now - one.age)
    return "answers-node";
  // A probe that fails on this node, for lack of files or ports, does not keep clients from deciding. Nor does a refusal: the endpoint would refuse them, too.
  const isVoid = isRecent && (probe.result === "unknown" || probe.result === "refused");
  const reach = isVoid ? "unknown" : reachable;
  const ofThisSilence = probe?.silent.filter((begun) => begun >= now - one.age) ?? [];
  const silentProbes = isRecent ? ofThisSilence.length : 0;
  const hasWitness = reach === "unknown" && context.answeredAge === Infinity && silentProbes > 0;
  const strangers = strangersReason([one], context, hasWitness);
  if (reach === "works" || (reach === "assumed" && strangers !== "not-admitted")) {
    const needed = context.isLossy(group) ? LOSSY_PROBES : 1;
    return silentProbes >= needed ? "probe-silent" : "probe-pending";
  }
  if (strangers !== undefined) return strangers;
  if (mayBeUnseen([one], context)) return "too-few-syns";
  const slow = context.mayBeLate(group) ? SLOW.late : SLOW.usual;
  const isSlow = one.repeats >= slow.repeats && one.repeatedAge >= slow.ms;
  // An attempt needs no proof that the endpoint has died: two SYNs, so that the third one goes elsewhere.
  const isAttempt = context.shownAt(one) !== undefined;
  const isEnough = isMany([one], context) || ((isSlow || isAttempt) && !context.isLossy(group));
  return isEnough ? "clients-unanswered" : "too-few-syns";
}

/** Whether probes reach an endpoint: those that reach its group may not, such as on a node whose firewall admits pods only. */
function reachOf(probe: ProbeRecord | undefined, { reach }: Pick<Context, "reach">): Reach {
  if (probe?.isClosed === true) return "blind";
  const hasAccepted = probe !== undefined && probe.accepted > Number.NEGATIVE_INFINITY;
  return reach === "works" && !hasAccepted ? "assumed" : reach;
}

/** True if a silent probe tells something about its endpoint: to strangers, one that never accepted a probe may be closed, as they are. */
function isTelling(probe: ProbeRecord, tried: readonly Overdue[], context: Context): boolean {
  if (probe.result !== "silent" || probe.isClosed) return false;
  return probe.accepted > Number.NEGATIVE_INFINITY || !areStrangers(tried, context);
}

/**
 * True if the endpoint has answered a probe since it owes clients an answer. Where no probe was accepted in its group, a refusal may be that of a firewall, which
 * refuses in the name of endpoints that are dead.
 */
function clears(
  { result, ended }: ProbeRecord,
  { age }: Pick<Overdue, "age">,
  { now, reach }: Pick<Context, "now" | "reach">,
): boolean {
  if (ended < now - age) return false;
  return result === "accepted" || (result === "refused" && reach === "works");
}

/** Two SYNs without an answer: the second one of a client, or those of two connections. */
function isSuspect({ age, syns, repeats, repeatedAge }: Overdue): boolean {
  return (repeats > 0 && repeatedAge >= REPEATED_ANSWER_MS) || (age >= ANSWER_MS && syns > 1);
}

/** So many SYNs that loss is excluded. Where answers were late, they may be again. */
function isMany(tried: readonly Overdue[], { group, isLossy }: Context): boolean {
  const sent = tried.reduce((sum, { syns, repeats }) => sum + syns + repeats, 0);
  const least = isLossy(group) ? ANSWER_MS + SLOW.late.ms : MANY_SYNS_MS;
  return sent >= MANY_SYNS && tried.some(({ age }) => age >= least);
}

/** True if answers may arrive by a link where they are not seen: none of the group was, and few SYNs were repeated. */
function mayBeUnseen(tried: readonly Overdue[], { answeredAge, group, isSeen }: Context): boolean {
  if (answeredAge < Infinity || isSeen(group)) return false;
  const syns = tried.reduce((sum, one) => sum + one.syns, 0);
  const repeats = tried.reduce((sum, one) => sum + one.repeats, 0);
  return repeats < MIN_REPEATED * syns;
}

/** True if nothing of a group that was tried answers, and so much was tried that the rest does not answer either. */
function isGroupSilent(tried: readonly Overdue[], context: Context): boolean {
  const { group, reach, now, probes } = context;
  const since = tried.reduce((longest, { age }) => Math.max(longest, age), 0);
  const isProbed = reach === "works" || reach === "assumed";
  // One that clients have tried, and others that were probed, or several that clients have tried.
  if (tried.length < (isProbed ? 1 : 2) || since < MANY_SYNS_MS) return false;
  if (context.answeredAge <= since) return false;
  const records = [...group.members.keys()].flatMap((name) => probes.get(name) ?? []);
  const latest = records.filter(({ begun }) => begun >= now - since);
  if (latest.some((record) => clears(record, { age: since }, context))) return false;
  const fewest = Math.min(MIN_TRIED, group.members.size);
  if (isProbed) {
    // Each endpoint that clients call is probed: a verdict on the group is for those that nobody calls, and for those whose first SYN is too young to show anything.
    const shown = tried.filter((one) => reasonOf(one, context) === "probe-silent").length;
    const isShownInPart = shown > 0 && shown < tried.length && !context.isLossy(group);
    if (tried.length === group.members.size && !isShownInPart) return false;
    const silent = latest.filter(({ result, isClosed }) => result === "silent" && !isClosed);
    const telling = silent.filter((record) => isTelling(record, tried, context));
    // To strangers, those that accepted a probe before tell something, perhaps only one of many. A policy that has just arrived looks the same, until it answers another client.
    const open = records.filter((one) => one.accepted > -Infinity && !one.isClosed);
    const mayBeFew = reach === "works" && since >= FEW_WITNESSES_MS;
    const witnesses = mayBeFew && areStrangers(tried, context) ? open.length : fewest;
    return silent.length >= fewest && telling.length >= Math.max(1, Math.min(fewest, witnesses));
  }
  if (strangersReason(tried, context, false) !== undefined) return false;
  if (mayBeUnseen(tried, context)) return false;
  if (isMany(tried, context)) return true;
  return tried.filter(isSuspect).length >= fewest && !context.isLossy(group);
}

function isProbeDue(one: Overdue, context: Context): boolean {
  const { group, isLossy, probes, now } = context;
  const probe = probes.get(endpointName(one));
  const reach = reachOf(probe, context);
  if (reach === "blind") return false;
  if (probe === undefined) return true;
  if (probe.result === "unknown") return now - probe.ended >= FAILED_PROBE_MS;
  if (now - probe.ended >= PROBE_HOLDS_MS) return true;
  // A result of this silence is used, whatever it is: a refusal arrives at once, and so would the next one. On a lossy path, a second silent probe is needed.
  const isUsed = probe.begun >= now - one.age && !(probe.result === "silent" && isLossy(group));
  return !isUsed && (reach === "works" || reach === "assumed");
}
