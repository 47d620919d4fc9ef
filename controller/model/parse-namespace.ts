import { isLabelName, isLabelValue } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { NamespaceFact } from "./facts.ts";

/** Reads a Namespace. One of unusable name or without uid gives no fact. */
export function parseNamespace(object: unknown): Parsed<NamespaceFact> {
  const { complaints, name } = parseClusterObjectName("Namespace", object, isLabelName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (name === undefined) return result;
  const uid = fieldAt(object, "metadata", "uid");
  if (typeof uid !== "string" || !isLabelValue(uid)) {
    complaints.add("invalid-object", "metadata.uid", uid);
    return result;
  }
  const terminating =
    !isUnset(fieldAt(object, "metadata", "deletionTimestamp")) ||
    fieldAt(object, "status", "phase") === "Terminating";
  return { ...result, fact: { name, uid, terminating } };
}
