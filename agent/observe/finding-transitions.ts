import type { LogLine } from "../../common/log.ts";
import { type Finding, findingName } from "../preflight/finding.ts";

/** A log line for each finding whose state or reason changed between two checks; its advice may change every time. PURE. */
export function findingTransitions(
  previous: readonly Finding[],
  next: readonly Finding[],
): LogLine[] {
  const before = new Map(previous.map((finding) => [findingName(finding), finding]));
  return next.flatMap((finding) => {
    const was = before.get(findingName(finding));
    if (was?.state === finding.state && was.reason === finding.reason) return [];
    return lineOf(was, finding);
  });
}

function lineOf(was: Finding | undefined, { state, ...finding }: Finding): LogLine[] {
  if (state === "failing") {
    return [{ level: "warn", message: "Preflight check failed", fields: finding }];
  }
  const { check, family } = finding;
  const about = { check, ...(family !== undefined && { family }) };
  if (was?.state === "failing") {
    const fields = { ...about, was: was.reason };
    if (state === "ok") return [{ level: "info", message: "Preflight check passes again", fields }];
    return [{ level: "info", message: "Preflight check result became unknown", fields }];
  }
  if (state === "ok") return [];
  // A check that did not run is not news.
  const level = finding.reason === "not-tested" ? "debug" : "info";
  return [{ level, message: "Preflight check result is unknown", fields: finding }];
}
