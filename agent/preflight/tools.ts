import type { Tool, Version } from "../backends/requirements.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** A tool as it is installed. */
export interface ToolFact {
  readonly tool: Tool;
  readonly missing: boolean;
  /** Absent if it is missing, or prints none. */
  readonly version?: Version;
}

/** Parses what the tool's version query printed. */
export function parseTool(tool: Tool, { missing, stdout }: ProgramResult): ToolFact {
  const [, major, minor, patch] = /\bv(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) return { tool, missing };
  return { tool, missing, version: [Number(major), Number(minor), Number(patch)] };
}

/** Whether the tools are installed, and new enough. */
export function checkTools(facts: readonly ToolFact[]): Finding {
  const key = { check: "tools" } as const;
  const gone = facts.filter(({ missing }) => missing).map(({ tool }) => tool);
  const [first] = gone;
  if (first !== undefined) {
    const names = gone.map(({ program }) => program).join(", ");
    const advice = `${names}: not installed, so no rule can be programmed. ${first.install}.`;
    return failing(key, "tool-missing", advice);
  }
  for (const { tool, version } of facts) {
    const { program, oldest } = tool;
    if (version === undefined) return unknown(key, `${program} prints no version.`);
    if (oldest === undefined || !isOlder(version, oldest)) continue;
    const advice = `${program} is ${version.join(".")}, older than ${oldest.join(".")}, and known to lose or reject such rules. Install a newer version.`;
    return failing(key, "tool-old", advice);
  }
  return ok(key);
}

function isOlder(version: Version, than: Version): boolean {
  const i = version.findIndex((number, at) => number !== than[at]);
  return i >= 0 && (version[i] ?? 0) < (than[i] ?? 0);
}
