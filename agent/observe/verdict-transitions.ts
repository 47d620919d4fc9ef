import type { LogLine } from "../../common/log.ts";
import { type Verdict, verdictName } from "../preflight/verdict.ts";

/**
 * What is worth telling between two looks at the node: a line for each verdict that became another. Numbers in the
 * advice change with every look; only the reason makes news. PURE.
 */
export function verdictTransitions(
  previous: readonly Verdict[],
  next: readonly Verdict[],
): LogLine[] {
  const before = new Map(previous.map((verdict) => [verdictName(verdict), verdict]));
  return next.flatMap((verdict) => {
    const was = before.get(verdictName(verdict));
    if (was?.state === verdict.state && was.reason === verdict.reason) return [];
    return lineOf(was, verdict);
  });
}

function lineOf(was: Verdict | undefined, { state, ...verdict }: Verdict): LogLine[] {
  if (state === "failing") {
    return [{ level: "warn", message: "Preflight found something.", fields: verdict }];
  }
  const { check, family } = verdict;
  const about = { check, ...(family !== undefined && { family }) };
  if (was?.state === "failing") {
    const fields = { ...about, was: was.reason };
    if (state === "well")
      return [{ level: "info", message: "Preflight: it is well again.", fields }];
    return [{ level: "info", message: "Preflight: it cannot be told any more.", fields }];
  }
  if (state === "well") return [];
  // What cannot be looked at is not news, but should be found by who looks for it.
  const level = verdict.reason === "not-tested" ? "debug" : "info";
  return [{ level, message: "Preflight cannot tell.", fields: verdict }];
}
