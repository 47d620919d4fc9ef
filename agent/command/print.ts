import { stringify } from "yaml";
import { problemText } from "../../api/problem.ts";
import type { AgentConfig } from "../config/config.ts";
import type { NodeFact } from "../model/facts.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import { makeBackends } from "./backends.ts";
import type { Loaded } from "./load.ts";

/** Every import's plan, by name. */
export function plansOf({ model }: Loaded, node: NodeFact): ImportPlan[] {
  const views = [...model.keys()].sort().map((key) => model.view(key));
  return views.flatMap((view) => (view === undefined ? [] : [planImport(view, node)]));
}

/** `plan`: every decision, with its reason. */
export function planText(plans: readonly ImportPlan[], output: AgentConfig["output"]): string {
  return output === "yaml" ? stringify(plans) : `${JSON.stringify(plans, undefined, 2)}\n`;
}

/** `render`: what would be programmed on a node that has nothing yet, as input of the backend's own tool. */
export function renderText(plans: readonly ImportPlan[], config: AgentConfig): string {
  const flavour = config.iptablesFlavour === "legacy" ? "legacy" : "nft";
  const backends = makeBackends({ config, flavour, onRespawn: () => undefined });
  const parts = [...backends].map(([family, backend]) => {
    const ruleset = backend.ruleset();
    for (const { importKey, services } of plans) {
      ruleset.set(
        importKey,
        services.filter((service) => service.family === family),
      );
    }
    return `# ${family}\n${backend.diff(backend.nothing(), ruleset.take())}`;
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
