import { problemText } from "../../api/problem.ts";
import type { AgentConfig } from "../config/config.ts";
import type { NodeFact } from "../model/facts.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import { makeBackends } from "./backends.ts";
import type { Chosen } from "./choose-backend.ts";
import type { Loaded } from "./load.ts";

/** Every import's plan, by name. */
export function plansOf({ model }: Loaded, node: NodeFact): ImportPlan[] {
  const views = [...model.keys()].sort().map((key) => model.view(key));
  return views.flatMap((view) => (view === undefined ? [] : [planImport(view, node)]));
}

/** `render`: what would be programmed on a node that has nothing yet, as input of the backend's own tool. */
export function renderText(plans: readonly ImportPlan[], config: AgentConfig): string {
  // Both flavours of iptables read the same text. Who leaves the choice to the node is shown what any node can do.
  const chosen: Chosen =
    config.backend === "ipvs" ? { backend: "ipvs" } : { backend: "iptables", flavour: "nft" };
  const backends = makeBackends({ config, chosen, onRespawn: () => undefined });
  const parts = [...backends].map(([family, backend]) => {
    const ruleset = backend.ruleset();
    for (const { importKey, services } of plans) {
      ruleset.set(
        importKey,
        services.filter((service) => service.family === family),
      );
    }
    return `# ${family}\n${backend.diff(backend.nothing(), ruleset.take()).toString()}`;
  });
  return parts.join("");
}

/** One line for each problem of what was loaded. */
export function problemLines({ problems }: Loaded): string {
  return [...problems.values()]
    .flat()
    .map((problem) => `${problemText(problem)}\n`)
    .join("");
}
