import { counted } from "../../api/count.ts";
import { inTurns } from "../../api/in-turns.ts";
import type { Severity } from "../exit-code.ts";
import { joined, NOTHING, type Printable, printable, type Style } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";
import type { AgentsStatus } from "./agent-status.ts";
import type { FailoverCount } from "./problems.ts";
import type { ContextStatus, SeenCluster } from "./status.ts";

const STYLES: Readonly<Record<Severity, Style | undefined>> = {
  well: undefined,
  warning: "warning",
  fault: "fault",
};

/** The status of all contexts as tables: clusters, agents, and what is wrong. PURE. */
export function statusTables(all: readonly ContextStatus[], screen?: Screen): Printable {
  const rows = all.flatMap(problemRows);
  const problems = fairly(rows).map(({ cells }) => cells);
  const more = rows.length - problems.length;
  const parts = [
    clusterTable(all, screen),
    agentTable(all, screen),
    problems.length === 0
      ? printable`No problems.\n`
      : table(["CONTEXT", "PROBLEM", "REASON", "DETAIL"], problems, screen),
  ];
  const rest = more > 0 ? printable`… and ${more} more: -n NAMESPACE, or -o json\n` : NOTHING;
  return printable`${joined(parts, printable`\n`)}${rest}`;
}

/** Rows of problems, and characters of a detail; `-o json` has all. A tenant can have thousands of conditions of 32,768 characters. */
const MOST_ROWS = 200;
const LONGEST_DETAIL = 1_000;

/** At most `MOST_ROWS`, in their order. If there are more, namespaces take turns, so that none hides the problems of others. */
function fairly(rows: readonly ProblemRow[]): readonly ProblemRow[] {
  if (rows.length <= MOST_ROWS) return rows;
  const turns = inTurns(Map.groupBy(rows, ({ namespace }) => namespace).values());
  const shown = new Set(turns.slice(0, MOST_ROWS));
  return rows.filter((row) => shown.has(row));
}

/** Who sees whom how; contexts that agree about a cluster share a row. */
function clusterTable(all: readonly ContextStatus[], screen: Screen | undefined): Printable {
  const groups = new Map<string, { seen: SeenCluster; by: string[]; latencies: number[] }>();
  for (const { context, cluster: own, clusters } of all) {
    for (const seen of clusters) {
      // Seconds and milliseconds are no other opinion.
      const key = JSON.stringify([seen.cluster, { ...seen, silentSeconds: 0, latencyMs: 0 }]);
      const group = groups.get(key) ?? { seen, by: [], latencies: [] };
      group.by.push(context);
      if (seen.latencyMs !== undefined && seen.cluster !== own)
        group.latencies.push(seen.latencyMs);
      groups.set(key, group);
    }
  }
  const rows = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { seen, by, latencies }]) => {
      const everyone = all.length > 1 && by.length === all.length;
      return [
        seen.cluster,
        seen.region ?? "",
        cell(seen.state, seen.severity),
        seen.verdict === "member" ? seen.reason : seen.verdict,
        latencyText(latencies),
        seen.version ?? "",
        String(seen.exports),
        String(seen.slices),
        everyone ? `all ${by.length}` : by.join(", "),
        noteOf(seen),
      ];
    });
  const heading = [
    "CLUSTER",
    "REGION",
    "STATE",
    "REASON",
    "LATENCY",
    "VERSION",
    "EXPORTS",
    "SLICES",
    "SEEN BY",
    "NOTE",
  ];
  return rows.length === 0 ? printable`No controller answers.\n` : table(heading, rows, screen);
}

/** From the lowest to the highest of those that see a cluster alike: `3 ms`, `3-41 ms`. */
function latencyText(latencies: readonly number[]): string {
  if (latencies.length === 0) return "-";
  const [least, most] = [Math.min(...latencies), Math.max(...latencies)].map((ms) =>
    String(Math.ceil(ms)),
  );
  return least === most ? `${least} ms` : `${least}-${most} ms`;
}

function noteOf({ state, silentSeconds, detail }: SeenCluster): string {
  const silent =
    state === "stale" && silentSeconds !== undefined ? `silent for ${silentSeconds} s` : "";
  return [silent, detail ?? ""].filter((part) => part !== "").join("; ");
}

const UNKNOWN: Cell = cell("unknown", "warning");

/** True if the pods of a program could not be listed. */
function isUnread({ unread }: ContextStatus, program: "controllers" | "agents"): boolean {
  return unread.some(({ what }) => what === program);
}

function agentTable(all: readonly ContextStatus[], screen: Screen | undefined): Printable {
  const isFailover = all.some(({ failover }) => failover !== undefined);
  const rows = all.map((status) => {
    const { context, controllers, agents, failover, unknown } = status;
    if (unknown !== undefined) return [context, UNKNOWN];
    return [
      context,
      isUnread(status, "controllers")
        ? UNKNOWN
        : cell(ofDesired(controllers.ready, controllers.desired), controllers.severity),
      isUnread(status, "agents")
        ? UNKNOWN
        : cell(ofDesired(agents.ready, agents.desired ?? agents.pods), agents.severity),
      String(agents.inSync),
      String(agents.behind),
      String(agents.notReady),
      String(agents.unknown),
      agents.versions.join(", "),
      ...(isFailover ? [failoverCell(failover)] : []),
    ];
  });
  const heading = [
    "CONTEXT",
    "CONTROLLERS",
    "AGENTS",
    "IN SYNC",
    "BEHIND",
    "NOT READY",
    "UNKNOWN",
    "VERSION",
    ...(isFailover ? ["FAILOVER"] : []),
  ];
  return table(heading, rows, screen);
}

/** Services whose ClusterIP can fail over, of those that ask for it. */
function failoverCell(count: FailoverCount | undefined): Cell | string {
  if (count === undefined) return "-";
  const { prepared, requested } = count;
  return cell(`${prepared}/${requested}`, prepared < requested ? "warning" : "well");
}

function ofDesired(ready: number, desired: number | undefined): string {
  return desired === undefined ? String(ready) : `${ready}/${desired}`;
}

interface ProblemRow {
  /** Of the object; empty if the problem is not of an object. */
  readonly namespace: string;
  readonly cells: readonly (Cell | string)[];
}

/** One row for each problem of a context. */
function problemRows(status: ContextStatus): ProblemRow[] {
  return [...problemLines(status)].map(([what, { severity, reason, detail }]) => {
    const [, namespace = ""] = /^\w+ ([^/ ]+)\//.exec(what) ?? [];
    return { namespace, cells: [status.context, cell(what, severity), reason, detail] };
  });
}

interface Line {
  readonly severity: Severity;
  readonly reason: string;
  readonly detail: string;
}

/** Everything that is wrong in a context besides the other clusters, by what it is about. */
function* problemLines(status: ContextStatus) {
  const { controllers, agents, problems, unread, unknown } = status;
  if (unknown !== undefined) {
    yield ["cluster", lineOf({ ...unknown, severity: "warning" })] as const;
    return;
  }
  if (controllers.severity !== "well" && !isUnread(status, "controllers"))
    yield ["controllers", lineOf(controllers)] as const;
  if (!isUnread(status, "agents")) yield* agentLines(agents);
  for (const one of problems) yield [one.object, lineOf(one)] as const;
  for (const { what, ...why } of unread)
    yield [`reading ${what}`, lineOf({ ...why, severity: "warning" })] as const;
}

function* agentLines({ nodes, desired = 0, pods }: AgentsStatus) {
  if (desired > pods) {
    const detail = `${desired - pods} of ${counted(desired, "node")} without an agent`;
    yield ["agents", lineOf({ severity: "fault", detail })] as const;
  }
  for (const agent of nodes) {
    if (agent.state !== "in-sync" && agent.state !== "ready") {
      const detail = [agent.state, agent.detail ?? ""].filter((part) => part !== "").join("; ");
      yield [`agent on ${agent.node}`, lineOf({ ...agent, detail })] as const;
    }
    for (const { name, reason, detail } of agent.findings) {
      const line = lineOf({
        severity: "warning",
        ...(reason !== undefined && { reason }),
        ...(detail !== undefined && { detail }),
      });
      yield [`${name} on ${agent.node}`, line] as const;
    }
  }
}

function lineOf(from: {
  readonly severity: Severity;
  readonly reason?: string;
  readonly detail?: string;
}): Line {
  const { severity, reason = "", detail = "" } = from;
  const isLong = detail.length > LONGEST_DETAIL;
  return { severity, reason, detail: isLong ? `${detail.slice(0, LONGEST_DETAIL)}…` : detail };
}

/** What `--watch` compares, as sentences by what they are about. PURE. */
export function statusLines(all: readonly ContextStatus[]): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  const add = (key: string, ...words: readonly string[]) =>
    lines.set(key, `${key}: ${words.filter((word) => word !== "").join("; ")}`);
  for (const status of all) {
    const { context, agents, clusters, failover } = status;
    for (const { cluster, state, reason, verdict, exports, detail = "" } of clusters) {
      const why = verdict === "member" ? reason : verdict;
      add(
        `${context}: cluster ${cluster}`,
        `${state} (${why})`,
        counted(exports, "export"),
        detail,
      );
    }
    if (status.unknown !== undefined) {
      add(`${context}: cluster`, "unknown", status.unknown.reason, status.unknown.detail);
      continue;
    }
    const { ready, desired = agents.pods, inSync, behind } = agents;
    add(`${context}: agents`, `${ready}/${desired} ready`, `${inSync} in sync`, `${behind} behind`);
    if (failover !== undefined)
      add(
        `${context}: ClusterIP failover`,
        `${failover.prepared} of ${counted(failover.requested, "Service")}`,
      );
    for (const [what, { reason, detail }] of problemLines(status))
      add(`${context}: ${what}`, reason, detail);
  }
  return lines;
}

/** The sentences that are new, changed or gone. PURE. */
export function changedLines(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const changed = [...after].flatMap(([key, line]) => (before.get(key) === line ? [] : [line]));
  const gone = [...before.keys()].filter((key) => !after.has(key));
  return [...changed, ...gone.map((key) => `${key}: no longer`)];
}

function cell(text: string, severity: Severity): Cell {
  const style = STYLES[severity];
  return { text, ...(style !== undefined && { style }) };
}
