import assert from "node:assert/strict";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { ownRules } from "./traces.ts";

/** How the agent's process looks to a node. */
export const AGENT_PROGRAM = "clusterset-agent.mjs";

/** What the agent of a node has done since it was started. */
export interface AgentDeeds {
  /** Of its process, seconds of the time of day: another one is another process. */
  readonly started: number;
  /** Its version. */
  readonly release: string;
  readonly written: number;
  readonly deleted: number;
  /** Changes of others that it has undone. */
  readonly repaired: number;
}

/** Asks a node's agent. Throws if it does not answer, or has not brought the kernel in step. */
export async function deedsOf(node: ClusterNode): Promise<AgentDeeds> {
  const page = (path: string) => node.host.exec(["curl", "-sf", `127.0.0.1:10269${path}`]);
  await page("/readyz");
  const metrics = await page("/metrics");
  return {
    release: /^clusterset_agent_build_info\{.*version="([^"]+)"/m.exec(metrics)?.[1] ?? "",
    started: sumOf(metrics, "process_start_time_seconds"),
    written: sumOf(metrics, "clusterset_agent_kernel_objects_written_total"),
    deleted: sumOf(metrics, "clusterset_agent_kernel_objects_deleted_total"),
    repaired: sumOf(metrics, "clusterset_agent_drift_repairs_total"),
  };
}

/** Over all labels; nothing if it was never counted. Throws if there is no such metric. */
function sumOf(metrics: string, name: string): number {
  assert.ok(metrics.includes(`# TYPE ${name} `), `no metric ${name}`);
  const lines = metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"));
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Those of a node's rules that are about one import, such as `demo/serve`. */
export async function rulesOfImport(node: ClusterNode, key: string): Promise<string> {
  const lines = (await rulesOfAgent(node)).split("\n");
  return lines.filter((line) => line.includes(`"${key}`)).join("\n");
}

/** The agent's rules of a node, as they are in its tables, without counters. */
export async function rulesOfAgent(node: ClusterNode): Promise<string> {
  return (await ownRules(node)).replaceAll(/ \[\d+:\d+\]$/gm, "");
}
