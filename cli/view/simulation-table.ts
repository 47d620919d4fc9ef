import { NOTHING, type Printable, printable } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";
import { load, type NodeGroup, type Outcome, type SimulatedPort } from "./simulation.ts";

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
  return printable`${context}: ${changed} of ${count} ports differ\n\n${list}${loadTable(result, screen)}`;
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
