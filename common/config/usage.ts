import { shown } from "../../api/problem.ts";

/** One thing that is wrong with how the agent was called. */
export interface UsageFault {
  /** What to correct, as its author wrote it: `--region`, `CLUSTERSET_AGENT_REGION`, `command`. */
  readonly where: string;
  /** The text that was found there; absent if there was none. */
  readonly value?: string;
  /** What was expected instead, or what rule it breaks. */
  readonly expected: string;
}

/** Everything that is wrong with how the agent was called: nothing is started, and the exit code is 2. */
export interface Usage {
  readonly code: "CSP_USAGE";
  /** At least one. */
  readonly faults: readonly UsageFault[];
}

/** Bundles faults into what a caller hands on. */
export function usage(...faults: readonly UsageFault[]): Usage {
  return { code: "CSP_USAGE", faults };
}

/** True if the result is a refusal. */
export function isUsage(result: object): result is Usage {
  return "code" in result && result.code === "CSP_USAGE" && "faults" in result;
}

/** The refusal as lines for a terminal, one per fault. */
export function usageText(refused: Usage): string {
  return refused.faults.map((fault) => `${refused.code}: ${faultText(fault)}\n`).join("");
}

function faultText({ where, value, expected }: UsageFault): string {
  return value === undefined ? `${where}: ${expected}` : `${where}: ${shown(value)}: ${expected}`;
}
