import { problemText } from "../../api/problem.ts";
import { finished } from "../backends/backend.ts";
import { KINDS } from "../backends/kinds.ts";
import { DEFAULT_BACKEND } from "../backends/names.ts";
import type { AgentConfig } from "../config/config.ts";
import type { NodeFact } from "../model/facts.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import { openBackends } from "./choose-backend.ts";
import type { Snapshot } from "./snapshot.ts";

/** The plans of all imports, by name. */
export function plansOf({ model }: Snapshot, node: NodeFact): ImportPlan[] {
  const views = [...model.keys()].sort().map((key) => model.view(key));
  return views.flatMap((view) => (view === undefined ? [] : [planImport(view, node)]));
}

/** `render`: the rules for a node that has none yet, as input of the backend's own tool. */
export function renderText(plans: readonly ImportPlan[], config: AgentConfig): string {
  // Of several, the node decides; the last one is used where the others are not supported.
  const name = config.backends.at(-1) ?? DEFAULT_BACKEND;
  const ready = KINDS[name].assume(config);
  const options = { keep: [], othersInPlace: () => false };
  const { tables } = openBackends(ready, config.clusterSetCidrs, options, () => undefined);
  const parts = [...tables].map(([family, table]) => {
    for (const { importKey, services } of plans) {
      table.set(
        importKey,
        services.filter((service) => service.family === family),
      );
    }
    return `# ${family}\n${finished(table.change()).toString()}`;
  });
  return parts.join("");
}

/** One line for each problem of the snapshot objects. */
export function problemLines({ problems }: Snapshot): string {
  return [...problems.values()]
    .flat()
    .map((problem) => `${problemText(problem)}\n`)
    .join("");
}
