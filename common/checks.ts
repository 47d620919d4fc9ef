import type { NodeCheck } from "../api/agent-page.ts";
import type { Reason } from "../api/reasons.ts";
import { plainText, type Reply } from "./http.ts";

/** The result of one health check. */
export interface Check {
  readonly name: string;
  /** The reason of the failure; absent if the check passes. */
  readonly reason?: Reason;
}

/** A check that passes, or fails for a reason. PURE. */
export function check(name: string, well: boolean, reason: Reason): Check {
  return well ? { name } : { name, reason };
}

const MARKS = { ok: "+", failing: "-", unknown: "?" } as const;

/** A remark as an additional line, such as `[-]source-nodes unreachable: …`. PURE. */
export function remarkLine({ name, state, reason, detail }: NodeCheck): string {
  const why = [state === "ok" ? "ok" : reason, detail].filter((one) => one !== undefined);
  return `[${MARKS[state]}]${name} ${why.join(": ")}`;
}

/** True if all checks pass. */
export function isWell(checks: readonly Check[]): boolean {
  return checks.every(({ reason }) => reason === undefined);
}

/** The checks in the format of kube-apiserver: one line each, and a result. `remarks`: additional lines. PURE. */
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

/** The response in the format of kube-apiserver: `ok`, or all checks if `verbose` or if one fails. */
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
