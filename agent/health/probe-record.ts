/**
 * Result of a probe: a connection; a refusal, which shows that the host is alive; no answer; or an error of this node, which says nothing about
 * the endpoint.
 */
export type ProbeResult = "accepted" | "refused" | "silent" | "unknown";

/** The latest probe of an endpoint. Times in milliseconds of the clock. */
export interface ProbeRecord {
  readonly result: ProbeResult;
  readonly begun: number;
  readonly ended: number;
  /** When one was last accepted; -Infinity if none was. */
  readonly accepted: number;
  /** True if it has answered clients although probes got no answer, and none was accepted since: it admits no nodes. */
  readonly isClosed: boolean;
  /** When the last probes without an answer began, this one included; none after an answer. */
  readonly silent: readonly number[];
}

/**
 * Whether probes of this node reach a group.
 *
 * - works: an endpoint that clients reach has answered a probe.
 * - assumed: this was not tried, and works in all other groups of the cluster that were.
 * - blind: an endpoint that clients reach has not, for example because a policy does not admit nodes.
 * - unknown: neither was tried.
 */
export type Reach = "works" | "assumed" | "blind" | "unknown";
