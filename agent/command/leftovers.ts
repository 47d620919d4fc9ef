import { FAMILIES, type Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { FLAVOURS } from "../backends/iptables/flavour.ts";
import { type RemoveOptions, removeOwn as removeIptables } from "../backends/iptables/remove.ts";
import { removeOwn as removeIpvs } from "../backends/ipvs/remove.ts";
import type { NodeLock } from "../system/node-lock.ts";
import type { Chosen } from "./choose-backend.ts";

/** Tools that are not installed, and sockets that cannot be had, have written nothing. */
const ABSENT: ReadonlySet<string> = new Set(["CSP_EXEC_MISSING", "CSP_NETLINK_UNAVAILABLE"]);

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
 * otherwise. Once `stop` is aborted, what is being removed is, and nothing else.
 */
export async function removeLeftovers(
  lock: NodeLock,
  log: Logger,
  { ranges, kept }: Search,
  stop?: AbortSignal,
): Promise<Removed> {
  let objects = 0;
  let failed = false;
  // While iptables' guard stands, it refuses what only the other backend leads on.
  const first = kept === undefined ? "dnat" : "guard";
  for (const { chosen, family, remove } of placesOf(lock, ranges, first, stop)) {
    if (kept?.families.includes(family) && isSame(kept.chosen, chosen)) continue;
    if (stop?.aborted) break;
    try {
      const removed = await remove();
      if (removed > 0) log.info("Removed what was ours.", { ...chosen, family, removed });
      objects += removed;
    } catch (error) {
      if (stop?.aborted) break;
      if (ABSENT.has(codeOf(error) ?? "")) continue;
      log.error("Could not remove what is ours.", { ...chosen, family, error });
      failed = true;
    }
  }
  return { objects, failed };
}

function* placesOf(
  lock: NodeLock,
  ranges: readonly Cidr[],
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
  for (const family of FAMILIES) {
    yield { chosen: { backend: "ipvs" }, family, remove: () => removeIpvs(family, ranges, stop) };
  }
}

function isSame(one: Chosen, other: Chosen): boolean {
  if (one.backend === "iptables" && other.backend === "iptables") {
    return one.flavour === other.flavour;
  }
  return one.backend === other.backend;
}
