import type { NodeCheck } from "../../api/agent-page.ts";
import { shown } from "../../api/problem.ts";
import type { Logger } from "../../common/log.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";
import { memberTiers } from "../plan/origin.ts";
import type { MemberCount, TrafficEvents } from "../traffic/traffic-table.ts";
import { type AgentMetrics, errorLabel } from "./metrics.ts";

/** Label values for endpoints of no known cluster. No cluster has this tier, so one of that name has series of its own. */
const UNKNOWN = "unknown";

/** Turns counted connections into metrics, and faults into log lines and a remark. */
export class TrafficObserver implements TrafficEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  /** The fault that was logged last; absent while connections are counted. */
  #fault: string | undefined;

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** The kernel's counters as they are now. */
  counted(counts: readonly MemberCount[], node: NodeFact, slices: Iterable<SliceFact>): void {
    const { connections: metric } = this.#metrics.counters;
    const members = new Set(counts.flatMap(({ member }) => (member === undefined ? [] : [member])));
    const tiers = memberTiers(members, slices, node);
    metric.reset();
    for (const { family, member, connections } of counts) {
      const tier = (member !== undefined && tiers.get(member)) || UNKNOWN;
      metric.inc({ family, member: member ?? UNKNOWN, tier }, connections);
    }
  }

  unavailable(error: unknown): void {
    const fault = error === undefined ? undefined : errorLabel(error);
    if (fault === this.#fault) return;
    this.#fault = fault;
    if (fault === undefined) this.#log.info("Connections are counted by cluster again");
    else this.#log.warn("Connections are not counted by cluster", { error });
  }

  /** A remark on the node, which does not change the verdict of `/readyz`. */
  remarks(): NodeCheck[] {
    if (this.#fault === undefined) return [];
    const detail = `connections are not counted by cluster: ${shown(this.#fault)}`;
    return [{ name: "traffic", state: "unknown", reason: "not-counted", detail }];
  }
}
