import type { Family } from "../../api/address.ts";
import type { NodeFact } from "../model/facts.ts";

/** New connections to the endpoints of one cluster. */
export interface MemberCount {
  readonly family: Family;
  /** The cluster; undefined for endpoints of no known one. */
  readonly member: string | undefined;
  /** Since the kernel has the table. */
  readonly connections: number;
}

/** Counts connections in the kernel. */
export interface MemberCounts {
  /** Writes the table if it is missing, or not as this node's ranges require. Rejects with a coded error. */
  install(node: NodeFact, stop: AbortSignal): Promise<void>;
  /** None if there is no table. Rejects with a coded error. */
  counts(): Promise<MemberCount[]>;
}

/** Receives whether connections are counted. */
export interface TrafficEvents {
  /** They are not, or the counters cannot be read; undefined: they are again. */
  unavailable(error: unknown): void;
}
