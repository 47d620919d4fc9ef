import { FAMILIES, type Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { FLAVOURS, type Flavour } from "../backends/iptables/flavour.ts";
import { removeOwn } from "../backends/iptables/remove.ts";
import type { NodeLock } from "../system/node-lock.ts";

/** What is in use, and stays. */
export interface Kept {
  readonly flavour: Flavour;
  readonly families: readonly Family[];
}

/** What became of a clean-up. */
export interface Removed {
  /** Chains and jumps that are gone. */
  readonly objects: number;
  /** True if something could not be looked at; everything else was cleaned. */
  readonly failed: boolean;
}

/**
 * Removes what is ours from every flavour and family, but for what is in use: earlier runs may have been told
 * otherwise. Once `stop` is aborted, what is being removed is, and nothing else.
 */
export async function removeLeftovers(
  lock: NodeLock,
  log: Logger,
  kept?: Kept,
  stop?: AbortSignal,
): Promise<Removed> {
  let objects = 0;
  let failed = false;
  for (const flavour of FLAVOURS) {
    for (const family of FAMILIES) {
      if (kept?.flavour === flavour && kept.families.includes(family)) continue;
      if (stop?.aborted) break;
      try {
        const removed = await removeOwn(flavour, family, { keep: [lock.descriptor], stop });
        if (removed > 0) log.info("Removed rules of ours.", { flavour, family, removed });
        objects += removed;
      } catch (error) {
        if (stop?.aborted) break;
        // Tools that are not installed have written nothing.
        if (codeOf(error) === "CSP_EXEC_MISSING") continue;
        log.error("Could not remove rules of ours.", { flavour, family, error });
        failed = true;
      }
    }
  }
  return { objects, failed };
}
