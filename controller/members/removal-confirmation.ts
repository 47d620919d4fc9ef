import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { ClusterFact, Exceptions } from "../model/facts.ts";
import { wasRenewed } from "./lease-expiry.ts";
import type { Moment } from "./rotate.ts";

/** Milliseconds by which a watch of Leases may be ahead of those of records. */
const AHEAD_MS = 1500;

/** How a registry is read. */
export interface Reading {
  /** The whole registry is watched. */
  readonly isWatched: boolean;
  /** How often the API server's state was older than before. */
  readonly rewinds: number;
  /** Names that were exported before this process started, and that the registry lacks. */
  readonly lacking?: Exceptions | undefined;
}

/** What is remembered of a registry's marks. */
export interface Confirmation {
  /** A name that the registry lacks is known not to be exported. */
  readonly isGiven: boolean;
  /** Names for which it is not given. */
  readonly except: Exceptions;
  /** Names for which it was never given. */
  readonly neverFor: Exceptions;
  /** It was given at least once. */
  readonly wasGiven: boolean;
  /** The registry may show an old state. */
  readonly isRewound: boolean;
  readonly rewinds: number;
  readonly wasWatched: boolean;
  /** When the first mark since the connection was lost arrived. */
  readonly markedAt?: number | undefined;
  readonly renewal?: string | undefined;
}

/** True for a name among the exceptions. */
export function isAmong(exceptions: Exceptions, key: ObjectKey): boolean {
  return exceptions.has(key) || exceptions.has(namesOf(key).namespace);
}

export const UNCONFIRMED: Confirmation = {
  isGiven: false,
  except: new Set(),
  neverFor: new Set(),
  wasGiven: false,
  isRewound: false,
  rewinds: 0,
  wasWatched: false,
};

/**
 * Whether a name that a registry lacks is known not to be exported. The API server of a registry may have been restored
 * from a backup or rebuilt, so an absence counts only when the cluster marks its Lease complete (`ClusterFact.completeExcept`).
 *
 * At the start the last mark counts if the Lease was renewed within its duration: a cluster that does not renew it withdraws
 * nothing, and a restored server has a mark as old as its backup. The backup may be as young as that: names that were exported before the start wait for the next marks. Otherwise, and after a lost connection, it takes two
 * marked renewals, some time apart, while the whole registry is watched: a listed Lease may have been written to a server that
 * is gone.
 */
export function confirmRemovals(
  before: Confirmation,
  { isWatched, lacking, rewinds }: Reading,
  cluster: ClusterFact | undefined,
  { now, today }: Moment,
): Confirmation {
  const isRewind = rewinds !== before.rewinds;
  const renewal = cluster && `${cluster.uid} ${cluster.renewal}`;
  const next = {
    ...before,
    ...{ renewal, rewinds, isRewound: isRewind || before.isRewound },
    wasWatched: isWatched || isRewind || before.wasWatched,
  };
  if (isRewind || !isWatched || cluster?.completeExcept === undefined) {
    return { ...next, isGiven: false, markedAt: undefined };
  }
  const isStart = !before.wasWatched && wasRenewed(cluster, today);
  const except =
    isStart && lacking ? cluster.completeExcept.union(lacking) : cluster.completeExcept;
  const isMark = renewal !== before.renewal;
  const markedAt = isMark ? (before.markedAt ?? now) : before.markedAt;
  const isSecond = markedAt !== undefined && now - markedAt >= AHEAD_MS;
  if (!isStart && !(isMark && isSecond)) return { ...next, markedAt };
  const neverFor = before.wasGiven ? before.neverFor.intersection(except) : except;
  return { ...next, except, neverFor, markedAt, isGiven: true, wasGiven: true, isRewound: false };
}
