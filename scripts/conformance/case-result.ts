/** Result of one test of a conformance case. */
export interface CaseResult {
  /** Its number in docs/MCS-API.md, such as C01. */
  readonly id: string;
  readonly group: "Required" | "Optional";
  readonly description: string;
  /** `failed`: neither conformance nor its absence was shown. */
  readonly outcome: "passed" | "not-conformant" | "failed" | "skipped";
  /** First line of the reason; empty if it passed. */
  readonly message: string;
}

/** How a test ended. */
export interface Ending {
  readonly hasPassed: boolean;
  readonly skipped: boolean;
  readonly error: unknown;
}

/** `C01 (required): …`; what stands between them says which part of a case a test covers. */
const NAME = /^(C\d\d) \((required|optional)\)[^:]*: (.+)$/;

/** The result of a test; undefined if its name is not one of a conformance case. PURE. */
export function caseResult(name: string, ending: Ending): CaseResult | undefined {
  const [, id, group, description] = NAME.exec(name) ?? [];
  if (id === undefined || description === undefined) return undefined;
  return {
    ...{ id, description, group: group === "required" ? "Required" : "Optional" },
    outcome: outcomeOf(ending),
    message: ending.hasPassed ? "" : firstLine(ending.error),
  };
}

/** An assertion that failed shows what is not conformant. Any other error shows that the test could not be done. */
function outcomeOf({ hasPassed, skipped, error }: Ending): CaseResult["outcome"] {
  if (skipped) return "skipped";
  if (hasPassed) return "passed";
  return error instanceof Error && error.name === "AssertionError" ? "not-conformant" : "failed";
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n")[0] ?? "";
}
