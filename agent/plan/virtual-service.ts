import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Scheduler } from "../../api/scheduler.ts";

/**
 * The seam between the plan and the backends: what a node should do, in words that no kernel interface has
 * a say in. A backend turns these into its own objects and adds nothing of its own to the decision.
 */
export interface VirtualService {
  readonly importKey: ObjectKey;
  /** Name of the import's port; empty if it has none. */
  readonly portName: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly family: Family;
  /** Canonical addresses that clients connect to, at least one, all of `family`. */
  readonly vips: readonly string[];
  /** Name of the active tier; absent if no endpoint can take a connection. */
  readonly tier?: string;
  /** Why this tier, or why none. */
  readonly reason: PortReason;
  /** Who takes new connections, alike in weight, in canonical order; empty means reject. */
  readonly endpoints: readonly PlannedEndpoint[];
  /**
   * Seconds for which a client keeps its endpoint, over all ports of the import that have the same endpoint
   * addresses; absent means each connection picks.
   */
  readonly affinitySeconds?: number;
  /** How new connections are spread, where a backend has the choice; absent means as it is told. */
  readonly scheduler?: Scheduler;
  /**
   * Present if connections to endpoints that are gone are to be reset: every endpoint that a slice of the import
   * lists for this port, in whatever condition and tier, as `destination` spells it. Not in any order.
   */
  readonly listed?: readonly string[];
}

/** Reasons that a port's plan may carry. */
export type PortReason = Extract<
  Reason,
  "nearest-ready" | "nearest-serving" | "no-endpoint" | "no-endpoint-on-node"
>;

/** One endpoint that takes traffic. */
export interface PlannedEndpoint {
  /** Canonical address, of the service's family. */
  readonly address: string;
  readonly port: number;
  /** Id of the source cluster; absent if its origin is unknown. */
  readonly cluster?: string;
  /** True if it may run on this very node, so that a connection to its own VIP can come back to it. */
  readonly maybeHere: boolean;
}

/** `ns/name:port`, the name by which rules, logs and pages speak of one port of an import. */
export function servicePortName(service: {
  readonly importKey: ObjectKey;
  readonly portName: string;
  readonly port: number;
}): string {
  return `${service.importKey}:${service.portName === "" ? service.port : service.portName}`;
}

/** `10.1.0.1:80` or `[fd00::1]:80`: an address and a port as one text. */
export function destination(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
