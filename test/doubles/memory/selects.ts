import { at, type Fields, isFields } from "./fields.ts";

/** What a list or watch asks for. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
}

/** True if an object matches the request's selectors. Of labels: `key`, `!key`, `key=value` and `key in (a,b)`, joined by commas. */
export function selects(
  { namespace, labelSelector, fieldSelector }: Selection,
  object: Fields,
): boolean {
  if (namespace !== undefined && at(object, ["metadata", "namespace"]) !== namespace) return false;
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
  if (name !== undefined && at(object, ["metadata", "name"]) !== name) return false;
  if (labelSelector === undefined) return true;
  const labels = at(object, ["metadata", "labels"]);
  const terms = labelSelector.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
  return terms.every((term) => {
    const [, absent, key = "", value, values] =
      /^(!?)([^\s=]+)(?:==?(\S+)| in \((.*)\))?$/.exec(term.trim()) ?? [];
    const label = isFields(labels) ? labels[key] : undefined;
    if (absent === "!") return label === undefined;
    if (values !== undefined) return values.split(",").includes(String(label));
    return value === undefined ? label !== undefined : label === value;
  });
}
