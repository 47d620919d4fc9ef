import { at, type Fields, isFields } from "./fields.ts";

/** What a list or watch asks for. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
}

/** True if an object matches the request's selectors. Of labels: `key`, `!key` and `key=value`. */
export function selects(
  { namespace, labelSelector, fieldSelector }: Selection,
  object: Fields,
): boolean {
  if (namespace !== undefined && at(object, ["metadata", "namespace"]) !== namespace) return false;
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
  if (name !== undefined && at(object, ["metadata", "name"]) !== name) return false;
  if (labelSelector === undefined) return true;
  const labels = at(object, ["metadata", "labels"]);
  const [key = "", value] = labelSelector.replace(/^!/, "").split("=");
  const label = isFields(labels) ? labels[key] : undefined;
  if (labelSelector.startsWith("!")) return label === undefined;
  return value === undefined ? label !== undefined : label === value;
}
