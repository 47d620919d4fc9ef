import { field, textField } from "../../../api/parse/fields.ts";
import { jsonOf } from "../../../api/parse/json-text.ts";

/** What nft's JSON shows of a table. */

/** An element of a set. */
export interface NftElement {
  /** Its fields, as nft's JSON has them. */
  readonly fields: readonly unknown[];
  /** In a map: the fields of its value; else empty. */
  readonly value: readonly unknown[];
  readonly comment: string;
}

/** A table of nftables. A missing comment is an empty text. */
export interface NftTable {
  /** By the name of the set or map. */
  readonly sets: ReadonlyMap<string, readonly NftElement[]>;
  /** The comments of all rules, in order. */
  readonly rules: readonly string[];
}

/** Parses the output of `nft -j list table`; undefined if it is malformed. */
export function parseTable(text: string): NftTable | undefined {
  const entries = field(jsonOf(text), "nftables");
  if (!Array.isArray(entries)) return undefined;
  const sets = new Map<string, NftElement[]>();
  const rules: string[] = [];
  for (const entry of entries as readonly unknown[]) {
    const rule = field(entry, "rule");
    if (rule !== undefined) rules.push(textField(rule, "comment") ?? "");
    const [set, map] = [field(entry, "set"), field(entry, "map")];
    if (set === undefined && map === undefined) continue;
    const found = field(set ?? map, "elem");
    const elements: readonly unknown[] = Array.isArray(found) ? found : [];
    sets.set(String(field(set ?? map, "name")), elements.map(map ? mappingOf : elementOf));
  }
  return { sets, rules };
}

function mappingOf(mapping: unknown): NftElement {
  const [key, value] = Array.isArray(mapping) ? (mapping as readonly unknown[]) : [];
  return { ...elementOf(key), value: fieldsOf(value) };
}

function elementOf(element: unknown): NftElement {
  const wrapped = field(element, "elem");
  const comment = textField(wrapped, "comment") ?? "";
  return { fields: fieldsOf(field(wrapped, "val") ?? element), value: [], comment };
}

function fieldsOf(value: unknown): readonly unknown[] {
  const fields = field(value, "concat");
  return Array.isArray(fields) ? fields : [value];
}
