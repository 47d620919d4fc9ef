import type { AgentPage, NodeCheck } from "../../api/agent-page.ts";
import { field, textField } from "../../api/parse/fields.ts";
import { isReason } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
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
  readonly findings: readonly NodeCheck[];
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
const LONGEST_WAIT_SECONDS = 5;

/** The agents of a context. PURE. */
export function agentsStatus({
  agents,
  desiredAgents,
  unread,
}: Pick<ContextReading, "agents" | "desiredAgents" | "unread">): AgentsStatus {
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
  const { node, pod, ready, page, unread, detail } = reading;
  const place = { node, pod };
  if (page === undefined) {
    const why = unread ?? (detail === undefined ? {} : { detail });
    if (!ready) return { ...place, state: "not-ready", ...why, findings: [], severity: "fault" };
    if (unread === undefined) return { ...place, state: "ready", findings: [], severity: "well" };
    return { ...place, state: "unknown", ...unread, findings: [], severity: "warning" };
  }
  const failing = page.checks.filter(({ state }) => state === "failing");
  const findings = failing.filter(isRemark);
  const common = { ...place, findings, version: page.version, backend: page.backend };
  const fault = failing.find((one) => !isRemark(one) && !one.name.startsWith("source-"));
  if (fault !== undefined || !ready) {
    return { ...common, state: "not-ready", ...textOf(fault), severity: "fault" };
  }
  const source = failing.find(({ name }) => name.startsWith("source-"));
  if (source !== undefined)
    return { ...common, state: "behind", ...textOf(source), severity: "warning" };
  if (page.oldestChangeSeconds > LONGEST_WAIT_SECONDS) {
    const waits = `a change has been waiting for ${Math.round(page.oldestChangeSeconds)} s`;
    return { ...common, state: "behind", detail: waits, severity: "warning" };
  }
  return { ...common, state: "in-sync", severity: findings.length > 0 ? "warning" : "well" };
}

/** True for a check of the node: if it fails, the agent works, but some traffic may not. PURE. */
export function isRemark({ name }: NodeCheck): boolean {
  return /^(preflight-|health$|backend-)/.test(name);
}

function textOf(check: NodeCheck | undefined): Pick<AgentStatus, "reason" | "detail"> {
  if (check === undefined) return {};
  const { name, reason, detail } = check;
  return {
    ...(reason !== undefined && { reason }),
    detail: detail === undefined ? name : `${name}: ${detail}`,
  };
}

/**
 * The page `/status` of an agent; undefined if it is none. Of another release, a reason that this one does not have is part of the detail,
 * and fields that this one does not know are ignored. PURE.
 */
export function parseAgentPage(text: string): AgentPage | undefined {
  const page = jsonOf(text);
  const [version, backend] = [textField(page, "version"), textField(page, "backend")];
  const [oldest, checks] = [field(page, "oldestChangeSeconds"), field(page, "checks")];
  if (version === undefined || backend === undefined) return undefined;
  if (typeof oldest !== "number" || !Array.isArray(checks)) return undefined;
  return { version, backend, oldestChangeSeconds: oldest, checks: checks.flatMap(checkOf) };
}

const STATES = ["ok", "failing", "unknown"] as const;

/** A document; undefined for another text. PURE. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function checkOf(one: unknown): NodeCheck[] {
  const [name, word, text] = ["name", "reason", "detail"].map((key) => textField(one, key));
  const state = STATES.find((known) => known === field(one, "state"));
  if (name === undefined || state === undefined) return [];
  const isKnown = word !== undefined && isReason(word);
  const detail = [isKnown ? undefined : word, text].filter((part) => part !== undefined).join(": ");
  return [{ name, state, ...(isKnown && { reason: word }), ...(detail !== "" && { detail }) }];
}
