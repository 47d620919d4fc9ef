import { FAMILIES } from "../../api/address.ts";
import type { Problem } from "../../api/problem.ts";
import { isWell } from "../../common/checks.ts";
import { codeOf } from "../../common/errors.ts";
import { ProgramMetrics } from "../../common/metrics.ts";
import type { ConntrackFact } from "../preflight/conntrack-table.ts";
import type { Finding } from "../preflight/finding.ts";
import { COUNTERS, GAUGES, HISTOGRAMS, METRIC_PREFIX } from "./metric-table.ts";
import { type AgentState, readiness } from "./readiness.ts";
import { type ImportSummary, portKey } from "./summary.ts";

/** Label value that stands for a port that rejects connections. */
const NO_TIER = "none";

/** Moves between the tiers of imports without selectors. */
const MOVES = ["local", "regional", "global", NO_TIER].flatMap((from, _, all) =>
  all.filter((to) => to !== from).map((to) => [from, to] as const),
);

/** The agent's metrics, as `metric-table.ts` defines them. */
export class AgentMetrics extends ProgramMetrics<
  typeof HISTOGRAMS,
  typeof COUNTERS,
  typeof GAUGES
> {
  constructor() {
    super(METRIC_PREFIX, HISTOGRAMS, COUNTERS, GAUGES);
    // Without an earlier 0, Prometheus' increase() does not see the first move.
    for (const family of FAMILIES) {
      for (const [from, to] of MOVES) this.counters.tierChanges.inc({ family, from, to }, 0);
    }
    for (const scope of ["endpoint", "group", "cluster"]) this.gauges.unanswering.set({ scope }, 0);
  }

  /** An import has a new plan: replaces the previous plan in the gauges. */
  planned(previous: ImportSummary | undefined, next: ImportSummary | undefined): void {
    if (previous !== undefined) this.#count(previous, -1);
    if (next !== undefined) this.#count(next, 1);
    const before = new Map(previous?.ports.map((port) => [portKey(port), port]));
    for (const port of next?.ports ?? []) {
      const was = before.get(portKey(port));
      if (was === undefined || was.tier === port.tier) continue;
      const [from, to] = [was.tier ?? NO_TIER, port.tier ?? NO_TIER];
      this.counters.tierChanges.inc({ family: port.family, from, to });
    }
  }

  /** An object was read: its previous and its present problems. */
  rejected(previous: readonly Problem[], next: readonly Problem[]): void {
    for (const { reason } of previous) this.gauges.rejected.dec({ reason });
    for (const { reason } of next) this.gauges.rejected.inc({ reason });
    const known = new Set(previous.map(partOf));
    for (const problem of next) {
      if (!known.has(partOf(problem))) this.counters.rejections.inc({ reason: problem.reason });
    }
  }

  /** Sets the gauges of the agent's present state. `now`: milliseconds of its clock. */
  progressed(agent: AgentState, now: number): void {
    this.gauges.ready.set(isWell(readiness(agent, now)) ? 1 : 0);
    for (const [family, { inSyncAt, oldestWaiting = now }] of agent.families) {
      this.gauges.waiting.set({ family }, (now - oldestWaiting) / 1000);
      if (inSyncAt !== undefined) this.gauges.inSyncAge.set({ family }, (now - inSyncAt) / 1000);
    }
  }

  /** Preflight checked the node. `family` is empty for a check that both share. */
  preflightRan(findings: readonly Finding[], conntrack: ConntrackFact | undefined): void {
    this.gauges.preflight.reset();
    for (const { check, family = "", state } of findings) {
      if (state === "unknown") continue;
      this.gauges.preflight.set({ check, family }, state === "failing" ? 1 : 0);
    }
    if (conntrack === undefined) return;
    this.gauges.conntrackEntries.set(conntrack.count);
    this.gauges.conntrackLimit.set(conntrack.limit);
  }

  #count(summary: ImportSummary, by: 1 | -1): void {
    this.gauges.imports.inc({ reason: summary.reason }, by);
    if (summary.limited !== undefined) {
      this.gauges.limited.inc({ reason: summary.limited.reason }, by);
    }
    for (const { tier = NO_TIER, reason, endpoints } of summary.ports) {
      this.gauges.ports.inc({ tier, reason }, by);
      if (endpoints > 0) this.gauges.endpoints.inc({ tier }, by * endpoints);
    }
  }
}

/** The value of the label `code` for an error. */
export function errorLabel(error: unknown): string {
  return codeOf(error) ?? "unknown";
}

function partOf({ reason, field, value }: Problem): string {
  return `${reason} ${field} ${value}`;
}
