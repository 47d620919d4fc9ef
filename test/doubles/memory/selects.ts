import { at, type Fields, isFields } from "./fields.ts";

/** What a list or watch asks for. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
}

/** True if an object matches the request's selectors. Of labels: `key`, `!key` and `key=value`, joined by commas. */
export function selects(
  { namespace, labelSelector, fieldSelector }: Selection,
  object: Fields,
): boolean {
  if (namespace !== undefined && at(object, ["metadata", "namespace"]) !== namespace) return false;
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
  if (name !== undefined && at(object, ["metadata", "name"]) !== name) return false;
  if (labelSelector === undefined) return true;
  const labels = at(object, ["metadata", "labels"]);
  return labelSelector.split(",").every((requirement) => {
    const [key = "", value] = requirement.replace(/^!/, "").split("=");
    const label = isFields(labels) ? labels[key] : undefined;
    if (requirement.startsWith("!")) return label === undefined;
    return value === undefined ? label !== undefined : label === value;
  });
}
