import { PROPERTY_CLUSTER_ID, rotationProperty } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { ClusterClaim } from "../identity/cluster-claim.ts";
import type { Identity } from "../identity/own-identity.ts";
import { type PeerVerdict, peerVerdict } from "../identity/peer-verdict.ts";
import { type Drain, drainText, type PlacedDrain, phaseOf } from "../model/drain.ts";
import type { ClusterFact } from "../model/facts.ts";
import type { RotationRecord } from "../model/rotation.ts";
import {
  type ClusterDescription,
  type DescriptionMemory,
  describeCluster,
  descriptionText,
  isOutdated,
  NOT_DESCRIBED,
  settledAt,
} from "./damped-description.ts";
import {
  checkLease,
  expectLease,
  LEASE_SECONDS,
  type LeaseMemory,
  renewLease,
} from "./lease-expiry.ts";
import {
  type Confirmation,
  confirmRemovals,
  isAmong,
  type Reading,
  UNCONFIRMED,
} from "./removal-confirmation.ts";
import {
  adoptRotation,
  beginRotation,
  type Moment,
  type RotationMemory,
  rotate,
  type Windows,
} from "./rotate.ts";

/** What can be read of a member at one moment. */
export interface Seen extends Reading {
  readonly id: string;
  /** The local cluster. */
  readonly isOurs: boolean;
  readonly claim?: ClusterClaim | undefined;
  /** Absent if there is no valid Lease. */
  readonly cluster?: ClusterFact | undefined;
  /** The whole registry was listed since the start. */
  readonly isListed: boolean;
  /** By operators, on objects other than its Lease and ClusterProperties. */
  readonly drains: readonly PlacedDrain[];
  /** What the leader has recorded; at the first evaluation, what was recorded before the start. */
  readonly recorded: RotationRecord;
}

/** The local cluster, and this replica. */
export interface Own {
  readonly identity: Identity;
  readonly uid: string;
  /** What its Lease repeats for the others. */
  readonly description: ClusterDescription;
  /** All members are known. */
  readonly isComplete: boolean;
  /** This replica records how members are used. */
  readonly isLeader: boolean;
  readonly windows: Windows;
}

/** When a member is evaluated. */
export interface Now extends Moment {
  /** Once a second Leases are compared with the clock. `late`: this process was paused, and events from that time are still unread. */
  readonly check?: "in-time" | "late" | undefined;
}

/** A member after an evaluation: what is remembered for the next one, and what follows from it now. */
export interface MemberState {
  readonly lease: LeaseMemory;
  /** The last holder of its Lease (`ClusterClaim.uid`); absent until one was seen. */
  readonly uid?: string | undefined;
  readonly confirmation: Confirmation;
  /** Region, properties and drain, for its imported slices. */
  readonly description: DescriptionMemory;
  /** The drain in force before a start: the object that states it may not be readable for long. */
  readonly recorded?: Drain | undefined;
  /** All drains, the one that ends last first. */
  readonly drains: readonly PlacedDrain[];
  /** The drain in force: of several the one that ends last. */
  readonly drain?: PlacedDrain | undefined;
  readonly rotation: RotationMemory;
  /** Absent until a Lease of another cluster was read. `ranges`: where it accepts endpoints of the local cluster; absent: it does not say. */
  readonly accepts?: { readonly ranges?: string | undefined } | undefined;
  /** Whether its records are used. */
  readonly verdict: PeerVerdict;
  readonly isListed: boolean;
  /** Its records are merged. */
  readonly isRead: boolean;
  /** It is known what it exports, and so what it does not, with exceptions (`isSyncedFor`). */
  readonly isSynced: boolean;
  /** When it may change by itself, by the clock: the next check from then on has to evaluate it again. */
  readonly until: number;
}

/** Evaluates a member; `last`: after its last evaluation. */
export function evaluate(
  last: MemberState | undefined,
  seen: Seen,
  own: Own,
  now: Now,
): MemberState {
  const { claim, cluster, isListed, isOurs } = seen;
  const before = last ?? begin(seen, now);
  const confirmed = confirmRemovals(before.confirmation, seen, cluster, now);
  const lease = nextLease(before.lease, seen, confirmed, now);
  const isEachRead = own.isComplete && (isOurs || isListed);
  const recorded = isEachRead ? undefined : before.recorded;
  const stated = isOurs ? own.description : cluster;
  const described = describeCluster(before.description, stated, now.now);
  const drains = drainsOf(described, recorded, seen);
  const drained = nextDrain(before, described, drains, seen, now);
  const statements = nextStatements(before, drained.description, confirmed, seen, own, now);
  const { accepts, confirmation, description, verdict } = statements;
  const { drain } = drained;
  // What the local cluster cannot renew, such as after an outage of its API server, says nothing about its endpoints.
  const isStale = !isOurs && lease.status.state === "stale";
  const rotation = rotate(before.rotation, isStale, drain?.from, own.windows, now);
  const isRead = verdict.records === "use" && isListed && !confirmation.isRewound;
  const expires = lease.isSilent ? Number.POSITIVE_INFINITY : lease.since + lease.duration;
  const isWaiting = statements.isWaiting || isOutdated(description, stated);
  const settles = isWaiting ? settledAt(description) : expires;
  return {
    ...{ lease, confirmation, description, recorded, drains, drain, verdict, isListed, isRead },
    accepts,
    uid: claim?.uid ?? before.uid,
    rotation: own.isLeader ? rotation : adoptRotation(rotation, seen.recorded, now),
    isSynced: verdict.records === "drop" ? isListed : isRead && confirmation.wasGiven,
    // The time of day may be set at any moment.
    until: drains.length > 0 || drain !== undefined ? now.now : Math.min(expires, settles),
  };
}

/** True if it is known whether the member exports a name. */
export function isSyncedFor(state: MemberState, key: ObjectKey): boolean {
  const { confirmation, isSynced, verdict } = state;
  return isSynced && (verdict.records === "drop" || !isAmong(confirmation.neverFor, key));
}

/** Texts that are equal for states of equal use: `use` of its endpoints and records, `sync` of what it exports, `accepts` of our endpoints. */
export function usesOf(state: MemberState | undefined): Record<"accepts" | "sync" | "use", string> {
  const { lease, rotation, drain, description, verdict } = state ?? {};
  const use = [lease?.status.state, lease?.isSilent, rotation?.current, drain && drainText(drain)];
  return {
    use: JSON.stringify([...use, verdict?.records, descriptionText(description?.current)]),
    sync: JSON.stringify([
      ...[verdict?.records, state?.isListed, state?.isRead, state?.isSynced],
      state?.confirmation.neverFor.size,
    ]),
    accepts: JSON.stringify(state?.accepts),
  };
}

/** What to record of a member for the next start: not the local cluster's own drain, which can be read whenever this can. */
export function recordOf({ drains, rotation }: MemberState, today: number): RotationRecord {
  const isRecorded = (drain: PlacedDrain) =>
    drain.where !== OWN_PROPERTY && phaseOf(drain, today) === "in-force";
  const drain = drains.find(isRecorded);
  return { ...rotation.current, ...(drain !== undefined && { drain }) };
}

/** What is remembered of a member. */
type Memory = Pick<
  MemberState,
  "accepts" | "confirmation" | "description" | "drain" | "lease" | "recorded" | "rotation" | "uid"
> &
  Partial<Pick<MemberState, "verdict">>;

function begin({ recorded }: Seen, now: Now): Memory {
  const { drain, state } = recorded;
  return {
    lease: expectLease(LEASE_SECONDS, now.now, state === "stale" ? "stale" : "alive"),
    confirmation: UNCONFIRMED,
    description: NOT_DESCRIBED,
    recorded: drain,
    rotation: beginRotation(recorded, now),
  };
}

function nextLease(
  before: LeaseMemory,
  { cluster, isOurs }: Seen,
  confirmation: Confirmation,
  { now, check }: Now,
): LeaseMemory {
  // The local cluster knows its own exports. Of one that was rebuilt or restored, records from before are still here until it is confirmed.
  const isCurrent = isOurs || confirmation.isGiven;
  const lease = cluster === undefined ? before : renewLease(before, cluster, now, isCurrent);
  return check === undefined ? lease : checkLease(lease, now, check === "late");
}

/** The drain in force. Another cluster's own drain counts as a change of its description: with too many changes, the next one waits. */
function nextDrain(
  before: Memory,
  description: DescriptionMemory,
  drains: readonly PlacedDrain[],
  { id }: Seen,
  { now, today }: Now,
): Pick<Memory, "description" | "drain"> {
  const drain = drains.find((one) => phaseOf(one, today) === "in-force");
  const cause = drain ?? before.drain;
  const isSame = drainTextOf(drain) === drainTextOf(before.drain);
  if (isSame || cause?.where !== leaseOf(id)) return { description, drain };
  if (now < settledAt(before.description)) return { description, drain: before.drain };
  return { description: { ...description, changedAt: now }, drain };
}

/**
 * What another cluster's Lease says besides: whether it is trusted, whether its registry shows the present state again after an old one, which exports were never confirmed, and in which ranges it accepts endpoints. Each change
 * queues imports or exports of all clusters, so it counts as one of its description, too. Distrust does not wait; trust after it does.
 */
function nextStatements(
  before: Memory,
  described: DescriptionMemory,
  confirmed: Confirmation,
  { claim, cluster, id, isOurs }: Seen,
  own: Own,
  { now }: Now,
): Pick<MemberState, "accepts" | "confirmation" | "description" | "verdict"> & {
  readonly isWaiting: boolean;
} {
  let description = described;
  let isWaiting = false;
  const take = <T>(was: T | undefined, is: T, isSame: (was: T) => boolean, waits = true): T => {
    if (was === undefined || isOurs || isSame(was)) return is;
    if (waits && now < settledAt(description)) {
      isWaiting = true;
      return was;
    }
    description = { ...description, changedAt: now };
    return is;
  };
  const latest = peerVerdict(id, claim, own.identity, own.uid);
  const verdict = take(
    before.uid === undefined ? undefined : before.verdict,
    latest,
    ({ records }) => records === latest.records,
    before.verdict?.records !== "use",
  );
  const { isRewound: wasRewound, neverFor, wasGiven } = before.confirmation;
  // A registry that shows old states again and again is not read meanwhile.
  const isRewound = take(confirmed.isRewound ? undefined : wasRewound, false, (was) => !was);
  const left = take(
    wasGiven ? neverFor : undefined,
    confirmed.neverFor,
    ({ size }) => size === confirmed.neverFor.size,
  );
  const accepted = cluster && acceptedBy(cluster, own);
  const accepts =
    isOurs || accepted === undefined
      ? before.accepts
      : take(before.accepts, accepted, ({ ranges }) => ranges === accepted.ranges);
  return {
    ...{ accepts, description, isWaiting, verdict },
    confirmation: {
      ...{ ...confirmed, isRewound: confirmed.isRewound || isRewound, neverFor: left },
      isGiven: confirmed.isGiven && !isRewound,
    },
  };
}

/** All drains, the one that ends last first. */
function drainsOf(
  { current }: DescriptionMemory,
  recorded: Drain | undefined,
  { id, isOurs, drains }: Seen,
): PlacedDrain[] {
  const place = (drain: Drain | undefined, where: string) => (drain ? [{ ...drain, where }] : []);
  return [
    ...drains,
    ...place(current?.drain, isOurs ? OWN_PROPERTY : leaseOf(id)),
    ...place(recorded, `ClusterProperty ${rotationProperty(id)}`),
  ].sort((a, b) => b.until - a.until || (a.where < b.where ? -1 : 1));
}

function acceptedBy(
  { accepts = {} }: ClusterFact,
  { identity }: Own,
): NonNullable<MemberState["accepts"]> {
  return { ranges: Object.hasOwn(accepts, identity.id) ? accepts[identity.id] : undefined };
}

function drainTextOf(drain: Drain | undefined): string | undefined {
  return drain && drainText(drain);
}

/** The object in which the local cluster's operator states a drain. */
const OWN_PROPERTY = `ClusterProperty ${PROPERTY_CLUSTER_ID}`;

/** The object in which another cluster states its own drain. */
function leaseOf(id: string): string {
  return `Lease of ${id}`;
}
