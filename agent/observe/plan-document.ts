import { stringify } from "yaml";
import type { DestinationCount } from "../backends/backend.ts";
import type { Output } from "../config/flags.ts";
import type { ImportPlan } from "../plan/import-plan.ts";

/** A plan and the kernel's connection counters for it. */
export interface CountedPlan extends ImportPlan {
  /** Absent if the backend has none. */
  readonly counts?: readonly DestinationCount[];
}

/** Characters of a piece: few enough for memory, and enough that there are few. */
const PIECE = 65_536;

/**
 * Plans as one document, `{imports: […]}`, in pieces, so that neither the plans of a large clusterset nor one large plan are in
 * memory as text. JSON has one import a line, for grep. PURE.
 */
export function planDocument(plans: Iterable<ImportPlan>, output: Output): Iterable<string> {
  return pieces(output === "yaml" ? yamlDocument(plans) : jsonDocument(plans));
}

/** One plan with its counters as a document, in pieces. PURE. */
export function planText(plan: CountedPlan, output: Output): Iterable<string> {
  return pieces(output === "yaml" ? yamlTexts(plan) : prettyJson(plan));
}

function* pieces(texts: Iterable<string>): Generator<string> {
  let piece = "";
  for (const text of texts) {
    piece += text;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

function* prettyJson(plan: CountedPlan): Generator<string> {
  yield* jsonTexts(plan, 2);
  yield "\n";
}

function* jsonDocument(plans: Iterable<ImportPlan>): Generator<string> {
  let before = '{"imports":[\n';
  for (const plan of plans) {
    yield before;
    yield* jsonTexts(plan, 0);
    before = ",\n";
  }
  yield before === ",\n" ? "\n]}\n" : `${before}]}\n`;
}

function* yamlDocument(plans: Iterable<ImportPlan>): Generator<string> {
  let before = "imports:\n";
  for (const plan of plans) {
    yield before;
    yield* yamlTexts([plan]);
    before = "";
  }
  if (before !== "") yield "imports: []\n";
}

/** `JSON.stringify(value, undefined, space)` in parts: whatever has no parts of its own is one. */
function* jsonTexts(value: unknown, space: 0 | 2, indent = ""): Generator<string> {
  const next = (to: string) => (space === 0 ? "" : `\n${to}`);
  if (!isNested(value)) {
    yield JSON.stringify(value, undefined, space).replaceAll("\n", `\n${indent}`);
    return;
  }
  const inner = indent + " ".repeat(space);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  let before = open;
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined) continue;
    const name = Array.isArray(value) ? "" : `${JSON.stringify(key)}:${space === 0 ? "" : " "}`;
    yield `${before}${next(inner)}${name}`;
    yield* jsonTexts(part, space, inner);
    before = ",";
  }
  yield `${next(indent)}${close}`;
}

/** The same as YAML, in whole lines. */
function* yamlTexts(value: unknown, indent = ""): Generator<string> {
  if (!isNested(value)) yield yamlText(value, indent);
  else if (Array.isArray(value)) {
    for (const item of value) {
      let mark = "- ";
      for (const text of yamlTexts(item, `${indent}  `)) {
        yield mark === "" ? text : `${indent}${mark}${text.slice(indent.length + mark.length)}`;
        mark = "";
      }
    }
  } else {
    for (const [key, part] of Object.entries(value)) {
      if (isNested(part)) {
        yield `${indent}${key}:\n`;
        yield* yamlTexts(part, `${indent}  `);
      } else if (part !== undefined) yield yamlText({ [key]: part }, indent);
    }
  }
}

/** True if a value has parts with parts of their own. */
function isNested(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((part) => typeof part === "object" && part !== null);
}

/** Without anchors, so that each port is complete, and without line breaks in values. */
function yamlText(value: unknown, indent: string): string {
  const text = stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
  return text.replace(/^(?=.)/gm, indent);
}
