import { type Cell, type Paint, table } from "../output/table.ts";
import { type Attempt, faultOf, whyOf } from "./attempt.ts";

/** What the pods of a cluster reach. */
export interface Reached {
  /** Cluster ID. */
  readonly from: string;
  readonly attempts: readonly Attempt[];
}

/** Who reaches whom: a row for each cluster and each outcome, so that twenty clusters that reach each other are twenty rows. PURE. */
export function reachTable(all: readonly Reached[], paint: Paint): string {
  const rows = all.flatMap(({ from, attempts }) => {
    const byOutcome = new Map<string, { readonly to: string[]; readonly cells: readonly Cell[] }>();
    for (const to of new Set(attempts.map((one) => one.to))) {
      const cells = (["server", "pod"] as const).map((kind) =>
        cellOf(attempts.filter((one) => one.to === to && one.kind === kind)),
      );
      const outcome = cells.map(({ text }) => text).join(" ");
      const group = byOutcome.get(outcome) ?? { to: [], cells };
      group.to.push(to);
      byOutcome.set(outcome, group);
    }
    return [...byOutcome.values()].map(({ to, cells }) => [from, to.join(", "), ...cells]);
  });
  return table(["PODS OF", "REACH", "API SERVER", "PODS"], rows, paint);
}

function cellOf(attempts: readonly Attempt[]): Cell {
  if (attempts.length === 0) return { text: "-" };
  const faults = new Set(attempts.flatMap((one) => faultOf(one) ?? []));
  if (faults.size === 0) return { text: "ok", style: "good" };
  return { text: [...faults].join(", "), style: "fault" };
}

/** What pods do not reach, a sentence for each direction. `serverOf`: URL of an API server. PURE. */
export function reachFaults(
  all: readonly Reached[],
  serverOf: (to: string) => string | undefined,
): string[] {
  return all.flatMap(({ from, attempts }) =>
    attempts
      .filter((one) => faultOf(one) !== undefined)
      .map((one) => {
        const target =
          one.kind === "server"
            ? `the API server of ${one.to} at ${serverOf(one.to) ?? ""}`
            : `pods of ${one.to}${one.address === undefined ? "" : `, such as ${one.address}`}`;
        return `pods of ${from} do not reach ${target}: ${whyOf(one)}.`;
      }),
  );
}
