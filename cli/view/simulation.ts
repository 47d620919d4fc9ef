import type { NodeFact } from "../../agent/model/facts.ts";
import type { ImportView, Model } from "../../agent/model/model.ts";
import { type ImportPlan, usedTiers } from "../../agent/plan/import-plan.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { servicePortName, type VirtualService } from "../../agent/plan/virtual-service.ts";
import { byCount, counted } from "../../api/count.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
import { NOTHING, type Printable, printable } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";

/** Where new connections to one port go, from one group of nodes. */
export interface Outcome {
  readonly reason: Reason;
  /** Absent if connections are rejected, or the import has no rules. */
  readonly tier?: string;
  /** The part of the connections that each cluster gets, 0 to 1; empty if none. Unknown origin: `?`. */
  readonly clusters: Readonly<Record<string, number>>;
  readonly endpoints: number;
}

/** The outcome of a port today and then. Absent: there is no such port. */
export interface SimulatedPort {
  /** `ns/name:port`, or `ns/name` of an import without rules. */
  readonly port: string;
  readonly protocol?: string;
  readonly family?: string;
  /** The nodes of which this is true, by the name of their group. */
  readonly from: string;
  readonly before?: Outcome;
  readonly after?: Outcome;
  readonly severity: Severity;
}

/** Nodes that plan alike, but for imports that prefer a single node. */
export interface NodeGroup {
  readonly name: string;
  readonly node: NodeFact;
  /** Number of nodes. */
  readonly size: number;
}

/** Plans every import of `keys` in both models, for each group of nodes. In the order of the keys, which two models may not share. PURE. */
export function* simulate(
  before: Model,
  after: Model,
  groups: readonly NodeGroup[],
  keys: Iterable<ObjectKey>,
): Generator<SimulatedPort> {
  for (const key of keys) {
    for (const { name, node } of groups) {
      const today = plan(before.view(key), node);
      const then = plan(withTiersInUse(after.view(key), today), node);
      yield* compared(name, today, then);
    }
  }
}

function plan(view: ImportView | undefined, node: NodeFact): ImportPlan | undefined {
  return view && planImport(view, node);
}

/** What the agents use today decides about tiers that have just enough. */
function withTiersInUse(
  view: ImportView | undefined,
  today: ImportPlan | undefined,
): ImportView | undefined {
  const dependsOnUse = view?.fact?.minReady !== undefined;
  return dependsOnUse && today !== undefined ? { ...view, inUse: usedTiers(today) } : view;
}

function* compared(
  from: string,
  today: ImportPlan | undefined,
  then: ImportPlan | undefined,
): Generator<SimulatedPort> {
  const [before, after] = [outcomes(today), outcomes(then)];
  for (const [name, { port, protocol, family }] of new Map([...before, ...after])) {
    const [a, b] = [before.get(name)?.outcome, after.get(name)?.outcome];
    yield {
      port,
      ...(protocol !== undefined && { protocol }),
      ...(family !== undefined && { family }),
      from,
      ...(a !== undefined && { before: a }),
      ...(b !== undefined && { after: b }),
      severity: severityOf(a, b),
    };
  }
}

interface NamedOutcome {
  readonly port: string;
  readonly protocol?: string;
  readonly family?: string;
  readonly outcome: Outcome;
}

function outcomes(plan: ImportPlan | undefined): Map<string, NamedOutcome> {
  if (plan === undefined || plan.reason === "not-imported") return new Map();
  const { importKey, reason, services } = plan;
  if (services.length === 0) {
    return new Map([
      [importKey, { port: importKey, outcome: { reason, clusters: {}, endpoints: 0 } }],
    ]);
  }
  return new Map(
    services.map((service) => {
      const port = servicePortName(service);
      const { protocol, family } = service;
      return [
        `${port} ${protocol} ${family}`,
        { port, protocol, family, outcome: outcomeOf(service) },
      ];
    }),
  );
}

function outcomeOf(service: VirtualService): Outcome {
  const { reason, tier, endpoints, shares } = service;
  const counts = new Map<string, number>();
  for (const { cluster = "?" } of endpoints) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  const weights = new Map(shares?.map(({ cluster, weight }) => [cluster, weight]) ?? counts);
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const clusters = [...weights]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([cluster, weight]) => [cluster, weight / total] as const);
  return {
    reason,
    ...(tier !== undefined && { tier }),
    clusters: Object.fromEntries(clusters),
    endpoints: endpoints.length,
  };
}

/** A fault: connections that are forwarded today are rejected then. A warning: they go to a last resort. PURE. */
function severityOf(before: Outcome | undefined, after: Outcome | undefined): Severity {
  const served = (outcome: Outcome | undefined) => (outcome?.endpoints ?? 0) > 0;
  if (served(before) && !served(after)) return "fault";
  const isLastResort = ({ reason }: Outcome) =>
    reason === "nearest-serving" || reason === "nearest-unanswering";
  if (after === undefined || !isLastResort(after)) return "well";
  return before !== undefined && isLastResort(before) ? "well" : "warning";
}

/** The parts of the ports' connections that each cluster answers, summed over all ports and weighted by nodes; `rejected` for none. PURE. */
export function load(
  ports: Iterable<SimulatedPort>,
  groups: readonly NodeGroup[],
  when: "before" | "after",
): ReadonlyMap<string, number> {
  const sizes = new Map(groups.map(({ name, size }) => [name, size]));
  const sums = new Map<string, number>();
  for (const one of ports) {
    const outcome = one[when];
    const size = sizes.get(one.from) ?? 0;
    // Without a family, it has no rules at all.
    if (outcome === undefined || one.family === undefined) continue;
    const parts =
      outcome.endpoints === 0 ? [["rejected", 1] as const] : Object.entries(outcome.clusters);
    for (const [name, part] of parts) sums.set(name, (sums.get(name) ?? 0) + part * size);
  }
  const nodes = groups.reduce((sum, { size }) => sum + size, 0);
  return new Map(Array.from(sums, ([name, sum]) => [name, sum / nodes]));
}

/** What a simulation found in one cluster. */
export interface SimulationResult {
  readonly context: string;
  readonly ports: readonly SimulatedPort[];
  readonly groups: readonly NodeGroup[];
  /** True: also ports whose outcome does not differ. */
  readonly all: boolean;
}

const STYLES = { well: undefined, warning: "warning", fault: "fault" } as const;

/** True if connections go elsewhere then, or in other parts. */
export function differs({ before, after }: SimulatedPort): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

/** The result as text: ports that differ, then how load shifts between clusters. PURE. */
export function simulationTable(result: SimulationResult, screen?: Screen): Printable {
  const { context, ports, groups, all } = result;
  const shown = all ? ports : ports.filter(differs);
  const several = groups.length > 1;
  const lines = merged(shown, groups.length);
  const rows = lines.map(({ port, from, before, after, severity }) => {
    const style = STYLES[severity];
    const then: Cell = { text: outcomeText(after), ...(style !== undefined && { style }) };
    return [port, ...(several ? [from] : []), outcomeText(before), then];
  });
  const heading = ["IMPORT", ...(several ? ["FROM"] : []), "TODAY", "THEN"];
  const count = new Set(ports.map(({ port }) => port)).size;
  const changed = new Set(ports.filter(differs).map(({ port }) => port)).size;
  const list = rows.length === 0 ? NOTHING : printable`${table(heading, rows, screen)}\n`;
  return printable`${context}: ${changed} of ${counted(count, "port")} ${byCount(count === 1 ? 1 : changed, "differs", "differ")}\n\n${list}${loadTable(result, screen)}`;
}

interface Line extends SimulatedPort {
  readonly from: string;
}

/** Rows that differ only in family or group are one: `all` groups, or their names. */
function merged(ports: readonly SimulatedPort[], groups: number): Line[] {
  const lines = new Map<string, { line: SimulatedPort; from: Set<string> }>();
  for (const one of ports) {
    const { port, protocol, before, after } = one;
    const key = JSON.stringify([port, protocol, before, after]);
    const found = lines.get(key) ?? { line: one, from: new Set() };
    found.from.add(one.from);
    lines.set(key, found);
  }
  return [...lines.values()].map(({ line, from }) => ({
    ...line,
    from: from.size === groups ? "all" : [...from].join(", "),
  }));
}

/** `regional cluster-2 (3)`, `local c1 90%, c2 10% (7)`, `rejected (no-endpoint)`. */
export function outcomeText(outcome: Outcome | undefined): string {
  if (outcome === undefined) return "-";
  const { reason, tier, clusters, endpoints } = outcome;
  if (endpoints === 0) return `rejected (${reason})`;
  const parts = Object.entries(clusters);
  const names = parts.map(([cluster, part]) =>
    parts.length === 1 ? cluster : `${cluster} ${Math.round(part * 100)}%`,
  );
  const note = reason === "nearest-ready" ? "" : `, ${reason}`;
  return `${tier ?? ""} ${names.join(", ")} (${endpoints}${note})`.trim();
}

function loadTable({ ports, groups }: SimulationResult, screen?: Screen): Printable {
  const [before, after] = [load(ports, groups, "before"), load(ports, groups, "after")];
  const clusters = [...new Set([...before.keys(), ...after.keys()])].sort();
  const share = (sums: ReadonlyMap<string, number>, cluster: string): string =>
    (sums.get(cluster) ?? 0).toFixed(1);
  const rows = clusters.map((cluster) => [cluster, share(before, cluster), share(after, cluster)]);
  return rows.length === 0 ? NOTHING : table(["ANSWERED BY", "PORTS TODAY", "THEN"], rows, screen);
}
