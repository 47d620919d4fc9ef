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

/** What a table does with packets, besides its sets. */
export interface TableRules {
  /** The comments of all rules, in order. A missing comment is an empty text. */
  readonly rules: readonly string[];
  /** The chain of each of them. */
  readonly chains: readonly string[];
  /** Base chains by name, as `hookText` writes them. */
  readonly hooks: ReadonlyMap<string, string>;
  /** True if the table has flags. Ours have none; the rules of a dormant one see no packet. */
  readonly hasFlags: boolean;
}

/** A table of nftables. */
export interface NftTable extends TableRules {
  /** By the name of the set or map. */
  readonly sets: ReadonlyMap<string, readonly NftElement[]>;
}

/** Where a base chain is, and what it does with a packet that no rule decides about. */
interface Hook {
  readonly type: string | undefined;
  readonly hook: string | undefined;
  readonly priority: number;
  readonly policy: string | undefined;
}

/** Such as `filter hook input priority 0; policy accept`. PURE. */
export function hookText({ type, hook, priority, policy }: Hook): string {
  return `${type} hook ${hook} priority ${priority}; policy ${policy}`;
}

/** The comments of a table's rules, and an empty text if one of these base chains differs, or the table has flags: what no rule shows. PURE. */
export function allRules(
  { rules, hooks, hasFlags }: TableRules,
  desired: ReadonlyMap<string, string>,
): readonly string[] {
  const isSame = !hasFlags && desired.entries().every(([name, hook]) => hooks.get(name) === hook);
  return isSame || rules.length === 0 ? rules : [...rules, ""];
}

/** nft 1.0.6 prints bytes of something else for flags, and ends there if these are no text. */
const CUT_AT_FLAGS = /"flags": $/;

/** Parses the output of `nft -j list table`; undefined if it is malformed. A table with flags may have a rule without a comment instead of all else. */
export function parseTable(text: string): NftTable | undefined {
  if (CUT_AT_FLAGS.test(text))
    return { sets: new Map(), hooks: new Map(), rules: [""], chains: [""], hasFlags: true };
  const entries = field(jsonOf(text), "nftables");
  if (!Array.isArray(entries)) return undefined;
  const sets = new Map<string, NftElement[]>();
  const hooks = new Map<string, string>();
  const rules: string[] = [];
  const chains: string[] = [];
  let hasFlags = false;
  for (const entry of entries as readonly unknown[]) {
    hasFlags ||= field(field(entry, "table"), "flags") !== undefined;
    const chain = field(entry, "chain");
    if (textField(chain, "hook") !== undefined)
      hooks.set(String(field(chain, "name")), hookOf(chain));
    const rule = field(entry, "rule");
    if (rule !== undefined) {
      rules.push(textField(rule, "comment") ?? "");
      chains.push(textField(rule, "chain") ?? "");
    }
    const [set, map] = [field(entry, "set"), field(entry, "map")];
    if (set === undefined && map === undefined) continue;
    const found = field(set ?? map, "elem");
    const elements: readonly unknown[] = Array.isArray(found) ? found : [];
    sets.set(String(field(set ?? map, "name")), elements.map(map ? mappingOf : elementOf));
  }
  return { sets, hooks, rules, chains, hasFlags };
}

function hookOf(chain: unknown): string {
  const [type, hook] = [textField(chain, "type"), textField(chain, "hook")];
  const policy = textField(chain, "policy");
  return hookText({ type, hook, priority: Number(field(chain, "prio")), policy });
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
