import { field, fieldAt, isFields, listOf, textField } from "../../api/parse/fields.ts";
import type { Severity } from "../exit-code.ts";
import { type AgentsStatus, agentsStatus } from "./agent-status.ts";
import { type FailoverCount, failoverCount, failoverProblems, regionProblems } from "./problems.ts";
import type { ContextReading, ControllerReading, Problem, Unread, UnreadPart } from "./readings.ts";

/** The state of one cluster, as another one's controller sees it. Field names are those of `-o json`. */
export interface SeenCluster {
  readonly cluster: string;
  readonly state: "alive" | "stale" | "drained";
  /** Why it is in this state. */
  readonly reason: string;
  /** Whether its exports are used, and why. */
  readonly verdict: string;
  readonly region?: string;
  /** Release of its controller. */
  readonly version?: string;
  readonly exports: number;
  readonly slices: number;
  /** Seconds since its Lease was last renewed, as the controller has seen it. */
  readonly silentSeconds?: number;
  /** Median milliseconds until the API server of its registry answered this controller. */
  readonly latencyMs?: number;
  /** Who drained it, why and until when; a fault's detail; watches that do not work. */
  readonly detail?: string;
  readonly severity: Severity;
}

/** The controllers of a cluster. */
export interface ControllersStatus {
  readonly desired?: number;
  readonly ready: number;
  /** The pod that leads. */
  readonly leader?: string;
  readonly reason?: string;
  readonly detail?: string;
  readonly severity: Severity;
}

/** The clusterset as one context's cluster sees it. */
export interface ContextStatus {
  readonly context: string;
  /** Why nothing is known of the cluster; absent if something is. */
  readonly unknown?: Unread;
  /** Its own ID, region and clusterset, as its controller knows them. */
  readonly cluster?: string;
  readonly region?: string;
  readonly clusterSet?: string;
  readonly controllers: ControllersStatus;
  /** All members, in order. */
  readonly clusters: readonly SeenCluster[];
  readonly agents: AgentsStatus;
  /** Absent if no Service requests ClusterIP failover. */
  readonly failover?: FailoverCount;
  readonly problems: readonly Problem[];
  readonly unread: readonly UnreadPart[];
}

/** What was read of a context, as a document. PURE. */
export function contextStatus(reading: ContextReading): ContextStatus {
  const page = leaderOf(reading.controllers)?.page;
  const identity = field(page, "identity");
  const own = (name: string) => {
    const text = textField(identity, name);
    return text === undefined ? {} : { [name]: text };
  };
  const { id } = own("id");
  const failover = failoverCount(page);
  return {
    context: reading.context,
    ...(reading.unknown !== undefined && { unknown: reading.unknown }),
    ...(id !== undefined && { cluster: id }),
    ...own("region"),
    ...own("clusterSet"),
    controllers: controllersStatus(reading),
    clusters: listOf(field(page, "clusters")).map(seenCluster),
    agents: agentsStatus(reading),
    ...(failover !== undefined && { failover }),
    problems: [
      ...reading.problems,
      ...conditionProblems(reading),
      ...(id === undefined ? [] : regionProblems(id, own("region").region, reading.nodeRegions)),
      ...failoverProblems(page, reading.namespace),
    ],
    unread: reading.unread,
  };
}

/** Everything that decides about the exit code. PURE. */
export function severitiesOf(status: ContextStatus): Severity[] {
  return [
    status.controllers.severity,
    ...status.clusters.map(({ severity }) => severity),
    status.agents.severity,
    ...status.problems.map(({ severity }) => severity),
    ...status.unread.map((): Severity => "warning"),
  ];
}

/** The replica that leads; else one that answers, which follows the same objects. */
function leaderOf(controllers: readonly ControllerReading[]): ControllerReading | undefined {
  const leads = controllers.find(({ page }) => field(page, "leader") === true);
  return leads ?? controllers.find(({ page }) => page !== undefined);
}

function controllersStatus(reading: ContextReading): ControllersStatus {
  const { controllers, desiredControllers } = reading;
  const ready = controllers.filter((one) => one.ready).length;
  const leader = controllers.find(({ page }) => field(page, "leader") === true);
  const counts = {
    ready,
    ...(desiredControllers !== undefined && { desired: desiredControllers }),
  };
  if (leader !== undefined) {
    const because = textField(leader.page, "because");
    const severity =
      because !== undefined || ready < (desiredControllers ?? 1) ? "warning" : "well";
    return {
      ...counts,
      leader: leader.pod,
      ...(because !== undefined && { reason: because }),
      severity,
    };
  }
  const unlisted = reading.unread.find(({ what }) => what === "controllers");
  if (unlisted !== undefined) {
    const { reason, detail } = unlisted;
    return { ...counts, reason, detail, severity: "warning" };
  }
  const unread = controllers.find((one) => one.unread !== undefined)?.unread;
  const detail = controllers.length === 0 ? "there is no pod" : "no replica leads";
  return { ...counts, ...(unread ?? { detail }), severity: "warning" };
}

function seenCluster(one: unknown): SeenCluster {
  const text = (name: string) => textField(one, name);
  const number = (name: string) => {
    const value = field(one, name);
    return typeof value === "number" ? value : 0;
  };
  const isDrained = text("drained") !== undefined;
  const verdict = text("verdict") ?? "";
  const stale = text("state") === "stale";
  const isListed = field(one, "listed") === true;
  const detail = [text("detail"), ...drains(one), ...watches(one)].filter(Boolean).join("; ");
  const silent = field(one, "silentSeconds");
  const latency = field(one, "answerMs");
  const [region, version] = [text("region"), text("version")];
  return {
    cluster: text("cluster") ?? "",
    state: stale ? "stale" : isDrained ? "drained" : "alive",
    reason: isDrained && !stale ? "drained" : (text("because") ?? ""),
    verdict,
    ...(region !== undefined && { region }),
    ...(version !== undefined && { version }),
    exports: number("exports"),
    slices: number("slices"),
    ...(typeof silent === "number" && { silentSeconds: silent }),
    ...(typeof latency === "number" && { latencyMs: latency }),
    ...(detail !== "" && { detail }),
    severity: stale || verdict !== "member" || !isListed ? "warning" : "well",
  };
}

function drains(one: unknown): string[] {
  return listOf(field(one, "drains")).map((drain) => {
    const by = textField(drain, "by");
    const reason = textField(drain, "reason");
    const [phase = "", from = "", until = ""] = ["phase", "from", "until"].map((name) =>
      textField(drain, name),
    );
    const time =
      phase === "planned" ? `drain planned from ${from} until ${until}` : `until ${until}`;
    return [time, by === undefined ? "" : `by ${by}`, reason === undefined ? "" : `(${reason})`]
      .filter((part) => part !== "")
      .join(" ");
  });
}

/** Watches of its registry that do not work. */
function watches(one: unknown): string[] {
  const connections = field(one, "connections");
  const broken = Object.entries(isFields(connections) ? connections : {}).filter(
    ([, state]) => state !== "watching",
  );
  return broken.map(([resource, state]) => `${resource} ${String(state)}`);
}

/** The message of an export's condition Ready if other clusters reject some of its endpoints. */
const REJECTED = / Left out: .*outside-endpoint-cidrs/;

/** Conditions of imports and exports that report a problem. */
function* conditionProblems({ imports, exports }: ContextReading): Generator<Problem> {
  for (const one of imports) {
    // Without an address, the plan's reason says the same.
    const found = conditionOf(one, "Ready");
    if (found?.status === "True" && / (left out|ignored|Drained)/.test(found.message)) continue;
    if (found !== undefined && found.status !== "True") yield problem("ServiceImport", one, found);
  }
  for (const one of exports) {
    const valid = conditionOf(one, "Valid");
    const ready = conditionOf(one, "Ready");
    const conflict = conditionOf(one, "Conflict");
    if (valid !== undefined && valid.status !== "True") yield problem("ServiceExport", one, valid);
    else if (ready !== undefined && ready.status !== "True")
      yield problem("ServiceExport", one, ready);
    else if (ready !== undefined && REJECTED.test(ready.message))
      yield { ...problem("ServiceExport", one, ready), reason: "outside-endpoint-cidrs" };
    else if (ready === undefined)
      yield {
        object: `ServiceExport ${nameOf(one)}`,
        severity: "warning",
        reason: "Pending",
        detail: "It has no condition: no controller has processed it.",
      };
    if (conflict?.status === "True") yield problem("ServiceExport", one, conflict);
  }
}

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** A condition of an object's status. PURE. */
export function conditionOf(object: unknown, type: string): Condition | undefined {
  const found = listOf(fieldAt(object, "status", "conditions")).find(
    (one) => textField(one, "type") === type,
  );
  if (found === undefined) return undefined;
  const [status = "", reason = "", message = ""] = ["status", "reason", "message"].map((name) =>
    textField(found, name),
  );
  return { status, reason, message };
}

function problem(kind: string, object: unknown, { reason, message }: Condition): Problem {
  return { object: `${kind} ${nameOf(object)}`, severity: "warning", reason, detail: message };
}

function nameOf(object: unknown): string {
  const metadata = field(object, "metadata");
  return `${textField(metadata, "namespace") ?? ""}/${textField(metadata, "name") ?? ""}`;
}
