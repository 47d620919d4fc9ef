import type { Printable } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";
import { type Attempt, faultOf, whyOf } from "./attempt.ts";

/** What the pods of a cluster, and one of its nodes, reach. */
export interface Reached {
  /** Cluster ID. */
  readonly from: string;
  readonly attempts: readonly Attempt[];
}

/** Who reaches whom: a row for each cluster and each outcome, so that twenty clusters that reach each other are twenty rows. PURE. */
export function reachTable(all: readonly Reached[], screen: Screen): Printable {
  const rows = all.flatMap(({ from, attempts }) => {
    const byOutcome = new Map<string, { readonly to: string[]; readonly cells: readonly Cell[] }>();
    for (const to of new Set(attempts.map((one) => one.to))) {
      const cells = (["server", "pod", "node"] as const).map((kind) =>
        cellOf(attempts.filter((one) => one.to === to && one.kind === kind)),
      );
      const outcome = cells.map(({ text }) => text).join(" ");
      const group = byOutcome.get(outcome) ?? { to: [], cells };
      group.to.push(to);
      byOutcome.set(outcome, group);
    }
    return [...byOutcome.values()].map(({ to, cells }) => [from, to.join(", "), ...cells]);
  });
  return table(["FROM", "TO", "API SERVER", "PODS", "PODS FROM A NODE"], rows, screen);
}

function cellOf(attempts: readonly Attempt[]): Cell {
  if (attempts.length === 0) return { text: "-" };
  const faults = new Set(attempts.flatMap((one) => faultOf(one) ?? []));
  if (faults.size === 0) return { text: "ok", style: "good" };
  return { text: [...faults].join(", "), style: "fault" };
}

/**
 * What nodes do not reach, a sentence for each direction. Connections of pods work without it, but then the agent's probes do not.
 * PURE.
 */
export function nodeWarnings(all: readonly Reached[]): string[] {
  return all.flatMap(({ from, attempts }) => {
    const failed = attempts.filter((one) => one.kind === "node" && faultOf(one) !== undefined);
    return [...new Set(failed.map(({ to }) => to))].flatMap((to) => {
      const [first] = failed.filter((one) => one.to === to);
      if (first === undefined) return [];
      return `a node of ${from} does not reach pods of ${to}${such(first)}: ${whyOf(first)}. Pods do not need this. But the probes of failure detection do: without them, it takes up to 4 s, and is less complete (docs/guides/connections.md). Let the addresses of nodes pass, and be routed back.`;
    });
  });
}

const such = ({ address }: Attempt): string =>
  address === undefined ? "" : `, such as ${address}`;

/** What pods do not reach, a sentence for each direction. `serverOf`: URL of an API server. PURE. */
export function reachFaults(
  all: readonly Reached[],
  serverOf: (to: string) => string | undefined,
): string[] {
  return all.flatMap(({ from, attempts }) =>
    attempts
      .filter((one) => one.kind !== "node" && faultOf(one) !== undefined)
      .map((one) => {
        const target =
          one.kind === "server"
            ? `the API server of ${one.to} at ${serverOf(one.to) ?? ""}`
            : `pods of ${one.to}${such(one)}`;
        return `pods of ${from} do not reach ${target}: ${whyOf(one)}.`;
      }),
  );
}
