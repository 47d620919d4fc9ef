import type { Reason } from "../api/reasons.ts";
import { plainText, type Reply } from "./http.ts";

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  /** Why it fails; absent if it is well. */
  readonly reason?: Reason;
}

/** A check that is well, or fails for a reason. PURE. */
export function check(name: string, well: boolean, reason: Reason): Check {
  return well ? { name } : { name, reason };
}

/** True if every check is well. */
export function isWell(checks: readonly Check[]): boolean {
  return checks.every(({ reason }) => reason === undefined);
}

/**
 * The checks as the API server prints its own: one line each, and a verdict. `remarks`: lines that do not decide it.
 * PURE.
 */
export function checksText(
  name: string,
  checks: readonly Check[],
  remarks: readonly string[] = [],
): string {
  const lines = checks.map((each) =>
    each.reason === undefined ? `[+]${each.name} ok\n` : `[-]${each.name} failed: ${each.reason}\n`,
  );
  lines.push(...remarks.map((remark) => `${remark}\n`));
  return `${lines.join("")}${name} check ${isWell(checks) ? "passed" : "failed"}\n`;
}

/** As the API server answers: `ok`, or the checks if they were asked for or if one fails. */
export function checksReply(
  name: string,
  checks: readonly Check[],
  query: URLSearchParams,
  remarks: readonly string[] = [],
): Reply {
  const well = isWell(checks);
  const detailed = !well || query.has("verbose");
  return plainText(well ? 200 : 503, detailed ? checksText(name, checks, remarks) : "ok\n");
}
