import type { Severity } from "../exit-code.ts";
import { checksOf, metricOf, type PageCheck } from "./checks.ts";
import type { AgentReading, ContextReading } from "./readings.ts";

/** How one node's agent is. */
export interface AgentStatus {
  readonly node: string;
  readonly pod: string;
  /** `behind`: it uses a last known state; `unknown`: its pages could not be read. */
  readonly state: "in-sync" | "behind" | "not-ready" | "unknown" | "ready";
  readonly reason?: string;
  readonly detail?: string;
  /** Failed checks of the node and silent endpoints: the agent works, but some traffic may not. */
  readonly findings: readonly PageCheck[];
  readonly version?: string;
  readonly backend?: string;
  readonly severity: Severity;
}

/** The agents of a cluster. */
export interface AgentsStatus {
  /** Nodes that should have one. */
  readonly desired?: number;
  readonly pods: number;
  readonly ready: number;
  readonly inSync: number;
  readonly behind: number;
  readonly notReady: number;
  /** Agents whose pages were not requested, or could not be read. */
  readonly unknown: number;
  /** Releases, in order. */
  readonly versions: readonly string[];
  /** One by one, those with something to say. */
  readonly nodes: readonly AgentStatus[];
  readonly severity: Severity;
}

/** Seconds that a change may wait to be programmed before an agent counts as behind: syncs of 10,000 services take two. */
const LONGEST_WAIT = 5;

/** The agents of a context. PURE. */
export function agentsStatus({ agents, desiredAgents, unread }: ContextReading): AgentsStatus {
  const all = agents.map(agentStatus);
  const count = (...states: readonly AgentStatus["state"][]) =>
    all.filter(({ state }) => states.includes(state)).length;
  // Pods that may not be listed are not missing.
  const isUnread = unread.some(({ what }) => what === "agents");
  const lacking = !isUnread && (desiredAgents ?? 0) > agents.length;
  const worst = all.some(({ severity }) => severity === "fault") || lacking ? "fault" : "warning";
  const isWell = !lacking && agents.length > 0 && all.every(({ severity }) => severity === "well");
  return {
    ...(desiredAgents !== undefined && { desired: desiredAgents }),
    pods: agents.length,
    ready: agents.filter(({ ready }) => ready).length,
    inSync: count("in-sync"),
    behind: count("behind"),
    notReady: count("not-ready"),
    unknown: count("unknown", "ready"),
    versions: [...new Set(all.flatMap(({ version }) => version ?? []))].sort(),
    nodes: all.filter(({ severity, findings }) => severity !== "well" || findings.length > 0),
    severity: isWell ? "well" : worst,
  };
}

function agentStatus(reading: AgentReading): AgentStatus {
  const { node, pod, ready, pages, unread, detail } = reading;
  const place = { node, pod };
  if (pages === undefined) {
    const why = unread ?? (detail === undefined ? {} : { detail });
    if (!ready) return { ...place, state: "not-ready", ...why, findings: [], severity: "fault" };
    if (unread === undefined) return { ...place, state: "ready", findings: [], severity: "well" };
    return { ...place, state: "unknown", ...unread, findings: [], severity: "warning" };
  }
  const checks = checksOf(pages.readyz);
  const failing = checks.filter(({ state }) => state === "failing");
  const isRemark = ({ name }: PageCheck) => /^(preflight-|health$|backend-)/.test(name);
  const findings = failing.filter(isRemark);
  const built = releaseOf(pages.metrics);
  const common = { ...place, findings, ...built };
  const fault = failing.find((one) => !isRemark(one) && !one.name.startsWith("source-"));
  if (fault !== undefined || !ready) {
    return { ...common, state: "not-ready", ...textOf(fault), severity: "fault" };
  }
  const source = failing.find(({ name }) => name.startsWith("source-"));
  if (source !== undefined)
    return { ...common, state: "behind", ...textOf(source), severity: "warning" };
  const waiting = metricOf(pages.metrics, "clusterset_agent_oldest_waiting_change_age_seconds");
  const longest = Math.max(0, ...waiting.values());
  if (longest > LONGEST_WAIT) {
    const waits = `a change has been waiting for ${Math.round(longest)} s`;
    return { ...common, state: "behind", detail: waits, severity: "warning" };
  }
  return { ...common, state: "in-sync", severity: findings.length > 0 ? "warning" : "well" };
}

function textOf(check: PageCheck | undefined): Pick<AgentStatus, "reason" | "detail"> {
  if (check === undefined) return {};
  const { name, reason, detail } = check;
  return {
    ...(reason !== undefined && { reason }),
    detail: detail === undefined ? name : `${name}: ${detail}`,
  };
}

function releaseOf(metrics: string): Pick<AgentStatus, "version" | "backend"> {
  const [labels = ""] = metricOf(metrics, "clusterset_agent_build_info").keys();
  const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];
  const [version, backend] = [label("version"), label("backend")];
  return { ...(version !== undefined && { version }), ...(backend !== undefined && { backend }) };
}
