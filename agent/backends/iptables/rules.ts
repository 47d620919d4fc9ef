import { createHash } from "node:crypto";
import type { Part } from "../objects.ts";
import type { ChainKey } from "./object-id.ts";

/** The rules of a chain, each a whole line; or a way to render them, if there are too many to keep. None for a jump: its ID says all. */
export type Rules = readonly string[] | UnmadeRules;

/** Rules that are rendered while they are written; the result is always the same. */
export interface UnmadeRules {
  lines(): readonly string[];
}

/** The lines of rules, rendered if necessary. */
export function linesOf(rules: Rules): readonly string[] {
  return isUnmade(rules) ? rules.lines() : rules;
}

/** True for rules that are not rendered yet. */
export function isUnmade(rules: Rules): rules is UnmadeRules {
  return "lines" in rules;
}

/** The digest of a chain's rules. */
export function digestOf(rules: readonly string[]): string {
  return createHash("sha256").update(rules.join("\n")).digest("base64").slice(0, 22);
}

/** Desired objects, by ID. */
export type Objects = Map<string, Part<Rules> | "kept" | undefined>;

/** A chain as an object. */
export function chainPart(id: ChainKey, rules: readonly string[]): Part<Rules> {
  return { id, digest: digestOf(rules), content: rules };
}
