import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/**
 * Follows what the kernel of one family has accepted, for work that may only be done afterwards, such as connection
 * tracking. It never delays a transaction.
 */
export interface Follower {
  /** The kernel held rules for these VIPs and ports (`Programmed.destinations`) before this process wrote to it. Once, before anything else. */
  found(destinations: Iterable<string>): void;
  /** These services of one import are part of the transaction that is being made; none: the import is removed. */
  proposed(key: ObjectKey, services: readonly VirtualService[]): void;
  /** What was proposed is live. `complete`: everything live was proposed. */
  accepted(complete: boolean): void;
  /** What was proposed may be live in part; it will be proposed again with everything else. */
  failed(): void;
}
