import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/**
 * Follows what the kernel of one family has accepted, for work that may only be done after the fact, such as
 * connection tracking. It is told what a transaction holds while that is made, and whether it went live; it
 * never holds up the next one.
 */
export interface Follower {
  /** One import's services of this family are part of the transaction that is being made; none: it goes. */
  proposed(key: ObjectKey, services: readonly VirtualService[]): void;
  /** What was proposed is live. `complete`: everything that is live was proposed, and what was not is gone. */
  accepted(complete: boolean): void;
  /** What was proposed may or may not be live; it will be proposed again, with everything else. */
  failed(): void;
}
