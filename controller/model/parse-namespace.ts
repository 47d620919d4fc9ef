import { isLabelName, isLabelValue } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { NamespaceFact } from "./facts.ts";
import { parseFailover } from "./parse-failover.ts";

/** Parses a Namespace. No fact for an invalid name or without uid. */
export function parseNamespace(object: unknown): Parsed<NamespaceFact> {
  return parseClusterObject("Namespace", object, isLabelName, (name, complaints) => {
    const uid = fieldAt(object, "metadata", "uid");
    if (typeof uid !== "string" || !isLabelValue(uid)) {
      return complaints.add("invalid-object", "metadata.uid", uid);
    }
    const terminating =
      !isUnset(fieldAt(object, "metadata", "deletionTimestamp")) ||
      fieldAt(object, "status", "phase") === "Terminating";
    const failover = parseFailover(object, complaints);
    return { name, uid, terminating, ...(failover !== undefined && { failover }) };
  });
}
