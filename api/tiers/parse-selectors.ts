import { ANNOTATION_CLUSTER_SELECTORS, LABEL_REGION } from "../keys.ts";
import { isSubdomainName } from "../names.ts";
import type { Complaints } from "../parse/complaints.ts";
import { type Fields, field, fieldAt, isFields, isUnset } from "../parse/fields.ts";
import { parseJsonText } from "../parse/json-text.ts";
import { type ClusterSelector, OPERATORS, type PropertyRequirement } from "./cluster-selectors.ts";

/** Maximum entries of a list (KEP-5939, API overview). */
const MOST_SELECTORS = 16;
/** Maximum requirements of an entry, values of a requirement and characters of a value; the KEP sets no limits. */
const MOST_REQUIREMENTS = 16;
const MOST_VALUES = 256;
const MOST_VALUE_CHARACTERS = 256;
/** Maximum characters of the annotation; Kubernetes allows 262,144 for all annotations of an object. */
const MOST_CHARACTERS = 65_536;
/** List, entry, propertySelector, matchExpressions, requirement, values. */
const DEPTH = 6;

/** Reports an invalid value at a path. */
type Refuse = (path: string, value: unknown) => undefined;

/**
 * The cluster selectors of a ServiceImport; undefined if it has none. Any error makes the whole list `invalid`, because a list
 * without an entry would have another meaning.
 */
export function parseSelectors(
  object: unknown,
  complaints: Complaints,
): readonly ClusterSelector[] | "invalid" | undefined {
  const refuse: Refuse = (path, value) => complaints.add("invalid-selector", path, value);
  const spec = fieldAt(object, "spec", "clusterSelectors");
  const annotation = fieldAt(object, "metadata", "annotations", ANNOTATION_CLUSTER_SELECTORS);
  const path = `metadata.annotations[${ANNOTATION_CLUSTER_SELECTORS}]`;
  if (!isUnset(spec)) {
    if (!isUnset(annotation)) complaints.add("overruled", path, annotation);
    return parseList(spec, "spec.clusterSelectors", refuse) ?? "invalid";
  }
  if (isUnset(annotation)) return undefined;
  const text = typeof annotation === "string" ? annotation : undefined;
  const value = text === undefined ? undefined : parseJsonText(text, MOST_CHARACTERS, DEPTH);
  if (value === undefined) refuse(path, annotation);
  return (value !== undefined && parseList(value, path, refuse)) || "invalid";
}

function parseList(raw: unknown, path: string, refuse: Refuse): ClusterSelector[] | undefined {
  return listOf(raw, path, MOST_SELECTORS, refuse, (entry, at) => {
    const selector = field(entry, "propertySelector");
    // An unknown field may be a criterion of a later version (such as CEL); an entry has only one.
    if (!isFields(selector) || !hasOnly(entry, ["propertySelector"])) return refuse(at, entry);
    return parseSelector(selector, `${at}.propertySelector`, refuse);
  });
}

/** Earlier drafts of the KEP called `matchProperties` `matchLabels`. */
const SELECTOR_FIELDS = ["matchProperties", "matchLabels", "matchExpressions"] as const;

function parseSelector(raw: Fields, path: string, refuse: Refuse): ClusterSelector | undefined {
  if (!hasOnly(raw, SELECTOR_FIELDS)) return refuse(path, raw);
  const [properties, labels, name] = SELECTOR_FIELDS;
  const requirements: PropertyRequirement[] = [];
  // One after the other: the first error is the list's only problem.
  for (const parse of [
    () => parseMap(field(raw, properties), `${path}.${properties}`, refuse),
    () => parseMap(field(raw, labels), `${path}.${labels}`, refuse),
    () => parseExpressions(field(raw, name), `${path}.${name}`, refuse),
  ]) {
    const part = parse();
    if (part === undefined) return undefined;
    requirements.push(...part);
  }
  // KEP-5939: an empty selector is invalid.
  const good = requirements.length >= 1 && requirements.length <= MOST_REQUIREMENTS;
  return good ? requirements : refuse(path, raw);
}

function parseMap(raw: unknown, path: string, refuse: Refuse): PropertyRequirement[] | undefined {
  if (isUnset(raw)) return [];
  if (!isFields(raw)) return refuse(path, raw);
  const requirements: PropertyRequirement[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (!isPropertyKey(key)) return refuse(path, key);
    if (!isValue(value)) return refuse(`${path}[${key}]`, value);
    requirements.push({ key, operator: "In", values: [value] });
  }
  return requirements;
}

function parseExpressions(
  raw: unknown,
  path: string,
  refuse: Refuse,
): PropertyRequirement[] | undefined {
  if (isUnset(raw)) return [];
  return listOf(raw, path, MOST_REQUIREMENTS, refuse, (item, at) =>
    parseRequirement(item, at, refuse),
  );
}

function parseRequirement(
  raw: unknown,
  path: string,
  refuse: Refuse,
): PropertyRequirement | undefined {
  if (!isFields(raw) || !hasOnly(raw, ["key", "operator", "values"])) return refuse(path, raw);
  const key = field(raw, "key");
  if (typeof key !== "string" || !isPropertyKey(key)) return refuse(`${path}.key`, key);
  const given = field(raw, "operator");
  const operator = OPERATORS.find((known) => known === given);
  if (operator === undefined) return refuse(`${path}.operator`, given);
  const list = field(raw, "values") ?? [];
  const values = listOf(list, `${path}.values`, MOST_VALUES, refuse, (value, at) =>
    isValue(value) ? value : refuse(at, value),
  );
  if (values === undefined) return undefined;
  const wantsValues = operator === "In" || operator === "NotIn";
  return values.length > 0 === wantsValues
    ? { key, operator, values }
    : refuse(`${path}.values`, list);
}

/** All parsed items of a list; undefined if one is invalid. */
function listOf<T>(
  raw: unknown,
  path: string,
  most: number,
  refuse: Refuse,
  parse: (item: unknown, path: string) => T | undefined,
): T[] | undefined {
  if (!Array.isArray(raw) || raw.length > most) return refuse(path, raw);
  const items: T[] = [];
  for (const [i, item] of raw.entries()) {
    const parsed = parse(item, `${path}[${i}]`);
    if (parsed === undefined) return undefined;
    items.push(parsed);
  }
  return items;
}

function hasOnly(raw: unknown, names: readonly string[]): boolean {
  return isFields(raw) && Object.keys(raw).every((name) => names.includes(name));
}

/** The name of a ClusterProperty, or the region label. */
function isPropertyKey(text: string): boolean {
  return isSubdomainName(text) || text === LABEL_REGION;
}

/** Any characters are valid: values are only compared (KEP-5939, Validation). */
function isValue(value: unknown): value is string {
  return typeof value === "string" && value.length <= MOST_VALUE_CHARACTERS;
}
