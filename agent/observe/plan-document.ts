import { stringify } from "yaml";
import type { DestinationCount } from "../backends/backend.ts";
import type { Output } from "../config/flags.ts";
import type { ImportPlan } from "../plan/import-plan.ts";

/** A plan, and what the kernel counts for it. */
export interface CountedPlan extends ImportPlan {
  /** Absent if it counts nothing. */
  readonly counts?: readonly DestinationCount[];
}

/**
 * Plans as one document, `{imports: […]}`, in parts that follow each other: the plans of a large clusterset
 * never stand in memory together. JSON has one import a line, so that grep finds it whole. PURE.
 */
export function planDocument(plans: Iterable<ImportPlan>, output: Output): Iterable<string> {
  return output === "yaml" ? yamlDocument(plans) : jsonDocument(plans);
}

/** One plan as a document of its own, with what the kernel counts. PURE. */
export function planText(plan: CountedPlan, output: Output): string {
  return output === "yaml" ? yamlText(plan) : `${JSON.stringify(plan, undefined, 2)}\n`;
}

function* jsonDocument(plans: Iterable<ImportPlan>): Generator<string> {
  let before = '{"imports":[\n';
  for (const plan of plans) {
    yield `${before}${JSON.stringify(plan)}`;
    before = ",\n";
  }
  yield before === ",\n" ? "\n]}\n" : `${before}]}\n`;
}

function* yamlDocument(plans: Iterable<ImportPlan>): Generator<string> {
  let before = "imports:\n";
  for (const plan of plans) {
    yield `${before}${yamlText([plan])}`;
    before = "";
  }
  if (before !== "") yield "imports: []\n";
}

/** Without anchors: two ports that share a VIP are two ports to whoever reads or greps it. */
function yamlText(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false });
}
