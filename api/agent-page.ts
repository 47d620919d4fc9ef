import type { Reason } from "./reasons.ts";

/** The result of a check of a node, as the page `/status` of its agent has it, and a line of `/readyz?verbose`. */
export interface NodeCheck {
  /** Such as `sources`, `source-nodes`, `preflight-route-IPv4`, `health`. */
  readonly name: string;
  /** `unknown`: it could not be tested. */
  readonly state: "ok" | "failing" | "unknown";
  /** Absent if the state is ok. */
  readonly reason?: Reason;
  readonly detail?: string;
}

/** The page `/status` of an agent. Fields are only added: agents and plugins may be of different releases. */
export interface AgentPage {
  readonly version: string;
  readonly backend: string;
  /** Seconds that the oldest change of an IP family has been waiting to be programmed; 0: no change waits. */
  readonly oldestChangeSeconds: number;
  /** First those that decide whether the node is ready. */
  readonly checks: readonly NodeCheck[];
}
