import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import type { BackendKind, Leftover, Variant } from "../backends/backend-kind.ts";

/** Milliseconds until a failed removal is tried again: doubled each time, up to the longest. */
const RETRY = { first: 5_000, longest: 300_000 } as const;

/** Where to remove objects of earlier runs. */
export interface Search {
  readonly kinds: Readonly<Record<string, BackendKind>>;
  /** The ClusterSet CIDRs, if known. */
  readonly ranges: readonly Cidr[];
  /** Descriptors that child processes keep open. */
  readonly keep: readonly number[];
  /** What is in use, and stays; absent if nothing is. */
  readonly inUse?: InUse;
}

/** The backend in use. */
export interface InUse {
  readonly name: string;
  readonly variant: Variant;
  readonly families: readonly Family[];
}

/** The result of a removal. */
export interface Removed {
  /** The number of kernel objects that were removed. */
  readonly objects: number;
  /** True if something could not be removed; everything else was. */
  readonly failed: boolean;
}

/**
 * Removes the objects of every backend, except those in use: earlier runs may have had other flags. Once `stop` is aborted,
 * finishes the removal in progress and begins no other. Does not log failures that are in `logged` again.
 */
export async function removeLeftovers(
  search: Search,
  log: Logger,
  stop?: AbortSignal,
  logged = new Set<string>(),
): Promise<Removed> {
  let objects = 0;
  let failed = false;
  for (const [backend, leftover] of leftoversOf(search, stop)) {
    if (stop?.aborted) break;
    const place = { backend, ...leftover.variant, family: leftover.family };
    try {
      const removed = await leftover.remove();
      if (removed > 0) log.info("Removed leftover objects", { ...place, removed });
      objects += removed;
    } catch (error) {
      if (stop?.aborted) break;
      failed = true;
      const text = JSON.stringify(place);
      if (!logged.has(text)) log.error("Could not remove leftover objects", { ...place, error });
      logged.add(text);
    }
  }
  return { objects, failed };
}

function* leftoversOf(
  { kinds, ranges, keep, inUse }: Search,
  stop: AbortSignal | undefined,
): Generator<[backend: string, Leftover]> {
  for (const [name, kind] of Object.entries(kinds)) {
    const use = inUse === undefined ? "none" : inUse.name === name ? "this" : "other";
    for (const leftover of kind.leftovers({ ranges, keep, inUse: use, stop })) {
      const { variant, family } = leftover;
      const stays = use === "this" && isSame(variant, inUse?.variant ?? {});
      if (!(stays && inUse?.families.includes(family))) yield [name, leftover];
    }
  }
}

function isSame(one: Variant, other: Variant): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

/**
 * Removes leftovers until nothing fails or `stop` is aborted; the pause between two tries doubles. Calls `tried` after the
 * first try, whether it failed or not.
 */
export async function removeUntilDone(
  search: Search,
  log: Logger,
  clock: Clock,
  stop: AbortSignal,
  tried: () => void,
): Promise<void> {
  const logged = new Set<string>();
  for (let ms: number = RETRY.first; ; ms = Math.min(2 * ms, RETRY.longest)) {
    const { failed } = await removeLeftovers(search, log, stop, logged);
    if (stop.aborted) return;
    if (ms === RETRY.first) tried();
    if (!failed) return;
    await sleep(clock, ms, stop);
    if (stop.aborted) return;
  }
}
