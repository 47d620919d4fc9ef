import type { NodeCheck } from "../../api/agent-page.ts";
import { counted } from "../../api/count.ts";
import { agentsStatus, isRemark } from "../view/agent-status.ts";
import type { AgentReading } from "../view/readings.ts";
import { type CheckedCluster, fault, type Outcome, ok, unknown, warning } from "./finding.ts";

/** What agents report of clusters whose pods their nodes do not reach. */
const isBlind = ({ reason }: NodeCheck): boolean => reason === "blind";

/** The most nodes that a finding names. */
const MOST_NAMES = 3;

/** Nodes without an agent that works. PURE. */
export function agentProblems({
  readings,
  desired,
  unread,
}: NonNullable<CheckedCluster["agents"]>): Outcome[] {
  if (unread !== undefined) return [unknown(unread)];
  const { nodes, pods, inSync } = agentsStatus({
    ...{ agents: readings, unread: [] },
    ...(desired !== undefined && { desiredAgents: desired }),
  });
  const bad = nodes.filter(({ state }) => state !== "in-sync" && state !== "ready");
  const found = [...Map.groupBy(bad, ({ state, detail = "" }) => `${state}: ${detail}`)].map(
    ([what, all]) => {
      const text = `${namesOf(all.map(({ node, pod }) => node || pod))}: ${what}`;
      return all.some(({ severity }) => severity === "fault") ? fault(text) : warning(text);
    },
  );
  const lacking = (desired ?? 0) - pods;
  if (lacking > 0) found.unshift(fault(`${counted(lacking, "node")} without a pod of the agent.`));
  return found.length > 0 ? found : [ok(`${inSync} in sync, ${pods} in all`)];
}

/** What agents have found wrong with their nodes, except what they do not reach. PURE. */
export function nodeProblems(readings: readonly AgentReading[]): Outcome[] {
  return reported(
    readings,
    (check) => check.state === "failing" && isRemark(check) && !isBlind(check),
  );
}

/** Clusters whose pods nodes do not reach, as their agents report. PURE. */
export function unreachedClusters(readings: readonly AgentReading[]): Outcome[] {
  return reported(readings, isBlind);
}

/** An outcome for each reason of checks of nodes, with the nodes. */
function reported(
  readings: readonly AgentReading[],
  isMeant: (check: NodeCheck) => boolean,
): Outcome[] {
  const read = readings.flatMap(({ node, page }) => (page === undefined ? [] : { node, page }));
  if (read.length === 0) return [unknown("No page of an agent could be read.")];
  const all = read.flatMap(({ node, page }) =>
    page.checks.filter(isMeant).map((check) => ({ node, check })),
  );
  const byReason = Map.groupBy(all, ({ check: { name, reason = "" } }) => `${name} ${reason}`);
  const found = [...byReason].map(([what, same]) => {
    const detail = same[0]?.check.detail ?? "";
    const nodes = namesOf([...new Set(same.map(({ node }) => node))]);
    const text = `${nodes}: ${what.trim()}${detail === "" ? "." : `: ${detail}`}`;
    // A node that tried some pods only, before any traffic: they may be dead.
    return same.some(({ check }) => check.state === "failing") ? warning(text) : unknown(text);
  });
  return found.length > 0 ? found : [ok(`as ${counted(read.length, "agent")} reported`)];
}

/** Whether agents have seen packets of pods at their rules. PURE. */
export function podsReachRules(readings: readonly AgentReading[]): "yes" | "no" | "unknown" {
  const checks = readings.flatMap(({ page }) => page?.checks ?? []);
  const ofPods = checks.filter(({ name }) => name.startsWith("preflight-pods-"));
  if (ofPods.some(({ state }) => state === "failing")) return "no";
  return ofPods.some(({ state }) => state === "ok") ? "yes" : "unknown";
}

function namesOf(nodes: readonly string[]): string {
  const shown = nodes.slice(0, MOST_NAMES).join(", ");
  const more = nodes.length - MOST_NAMES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
