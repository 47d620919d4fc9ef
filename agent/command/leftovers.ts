import { FAMILIES, type Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { type Clock, systemClock } from "../../common/clock.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { FLAVOURS } from "../backends/iptables/flavour.ts";
import { type RemoveOptions, removeOwn as removeIptables } from "../backends/iptables/remove.ts";
import { removeOwn as removeIpvs } from "../backends/ipvs/remove.ts";
import type { NodeLock } from "../system/node-lock.ts";
import type { Chosen } from "./choose-backend.ts";
import { wait } from "./wait.ts";

/** Milliseconds until what could not be removed is tried again: doubled each time, up to the longest. */
const RETRY = { first: 5_000, longest: 300_000 } as const;

/** Where to look, besides where the kernel itself says. */
export interface Search {
  /** The ClusterSet CIDRs, as far as anybody said. */
  readonly ranges: readonly Cidr[];
  /** What is in use, and stays. */
  readonly kept?: Kept;
}

/** What is in use. */
export interface Kept {
  readonly chosen: Chosen;
  readonly families: readonly Family[];
}

/** What became of a clean-up. */
export interface Removed {
  /** Kernel objects that are gone. */
  readonly objects: number;
  /** True if something could not be looked at; everything else was cleaned. */
  readonly failed: boolean;
}

/** What one backend, with one tool, may have left behind in one family. */
interface Place {
  readonly chosen: Chosen;
  readonly family: Family;
  readonly remove: () => Promise<number>;
}

/**
 * Removes what is ours of every backend, flavour and family, but for what is in use: earlier runs may have been told
 * otherwise. Once `stop` is aborted, what is being removed is, and nothing else. A failure that was `told` is not again.
 */
export async function removeLeftovers(
  lock: NodeLock,
  log: Logger,
  search: Search,
  stop?: AbortSignal,
  told = new Set<string>(),
): Promise<Removed> {
  let objects = 0;
  let failed = false;
  const { kept } = search;
  // While iptables' guard stands, it refuses what only the other backend leads on.
  const first = kept === undefined ? "dnat" : "guard";
  for (const { chosen, family, remove } of placesOf(lock, search, first, stop)) {
    if (kept?.families.includes(family) && isSame(kept.chosen, chosen)) continue;
    if (stop?.aborted) break;
    try {
      const removed = await remove();
      if (removed > 0) log.info("Removed what was ours.", { ...chosen, family, removed });
      objects += removed;
    } catch (error) {
      if (stop?.aborted) break;
      // Tools of iptables that are not installed have written nothing.
      if (chosen.backend === "iptables" && codeOf(error) === "CSP_EXEC_MISSING") continue;
      failed = true;
      const place = JSON.stringify([chosen, family]);
      if (!told.has(place))
        log.error("Could not remove what is ours.", { ...chosen, family, error });
      told.add(place);
    }
  }
  return { objects, failed };
}

/**
 * The same, again and again, until nothing has failed or `stop` is aborted. `once` is called after the first time: what
 * is then left stands in nobody's way for want of being tried.
 */
export function removeAllLeftovers(
  lock: NodeLock,
  log: Logger,
  search: Search,
  stop: AbortSignal,
  once: () => void,
): Promise<void> {
  const told = new Set<string>();
  const remove = () => removeLeftovers(lock, log, search, stop, told);
  return untilRemoved({ remove, clock: systemClock, stop, once });
}

/** What `untilRemoved` goes by. */
export interface Removing {
  /** Tries it once. */
  readonly remove: () => Promise<Pick<Removed, "failed">>;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** The first try is over, however it went. */
  readonly once: () => void;
}

/** Tries until nothing has failed, ever more rarely, or `stop` is aborted. */
export async function untilRemoved({ remove, clock, stop, once }: Removing): Promise<void> {
  for (let ms: number = RETRY.first; ; ms = Math.min(2 * ms, RETRY.longest)) {
    const { failed } = await remove();
    if (stop.aborted) return;
    if (ms === RETRY.first) once();
    if (!failed) return;
    await wait(clock, ms, stop);
    if (stop.aborted) return;
  }
}

function* placesOf(
  lock: NodeLock,
  { ranges, kept }: Search,
  first: RemoveOptions["first"],
  stop: AbortSignal | undefined,
): Generator<Place> {
  const options = { first, keep: [lock.descriptor], stop };
  for (const flavour of FLAVOURS) {
    for (const family of FAMILIES) {
      const remove = () => removeIptables(flavour, family, options);
      yield { chosen: { backend: "iptables", flavour }, family, remove };
    }
  }
  const keepDevice = kept?.chosen.backend === "ipvs";
  for (const family of FAMILIES) {
    const remove = () => removeIpvs(family, { ranges, keepDevice, stop });
    yield { chosen: { backend: "ipvs" }, family, remove };
  }
}

function isSame(one: Chosen, other: Chosen): boolean {
  if (one.backend === "iptables" && other.backend === "iptables") {
    return one.flavour === other.flavour;
  }
  return one.backend === other.backend;
}
