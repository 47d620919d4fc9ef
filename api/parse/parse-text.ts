import type { Reason } from "../reasons.ts";
import type { Complaints } from "./complaints.ts";
import { field, isUnset } from "./fields.ts";

/** An optional text of `from` if it is one of its kind; undefined if it is not, or empty. `path` leads to `from`. */
export function parseText(
  from: unknown,
  name: string,
  reason: Reason,
  isText: (text: string) => boolean,
  path: string,
  complaints: Complaints,
): string | undefined {
  const value = field(from, name);
  if (isUnset(value) || value === "") return undefined;
  if (typeof value === "string" && isText(value)) return value;
  return complaints.add(reason, `${path}.${name}`, value);
}
