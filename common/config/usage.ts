import { shown } from "../../api/problem.ts";

/** A fault in a command line or environment. */
export interface UsageFault {
  /** The faulty part: `--region`, `CLUSTERSET_AGENT_REGION`, `command`. */
  readonly where: string;
  /** Its text, if it has one. */
  readonly value?: string;
  /** The expected value, or the violated rule. */
  readonly expected: string;
}

/** A usage error: all faults. The program does not start, and the exit code is 2. */
export interface Usage {
  readonly code: "CSP_USAGE";
  /** At least one. */
  readonly faults: readonly UsageFault[];
}

/** A usage error with these faults. */
export function usage(...faults: readonly UsageFault[]): Usage {
  return { code: "CSP_USAGE", faults };
}

/** True for a usage error. */
export function isUsage(result: object): result is Usage {
  return "code" in result && result.code === "CSP_USAGE" && "faults" in result;
}

/** A usage error as text, one line per fault. */
export function usageText(refused: Usage): string {
  return refused.faults.map((fault) => `${refused.code}: ${faultText(fault)}\n`).join("");
}

function faultText({ where, value, expected }: UsageFault): string {
  return value === undefined ? `${where}: ${expected}` : `${where}: ${shown(value)}: ${expected}`;
}
