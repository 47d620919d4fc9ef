import { ANNOTATION_CLUSTER_IP_FAILOVER } from "../../api/keys.ts";
import { isLabelName, isLabelValue } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import type { NamespaceFact } from "./facts.ts";

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

const ANSWERS: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Whether a Service or Namespace asks for ClusterIP failover; undefined if it does not say, or says something else. */
export function parseFailover(object: unknown, complaints: Complaints): boolean | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_CLUSTER_IP_FAILOVER);
  if (isUnset(value)) return undefined;
  const answer =
    typeof value === "string" && Object.hasOwn(ANSWERS, value) ? ANSWERS[value] : undefined;
  if (answer !== undefined) return answer;
  const path = `metadata.annotations[${ANNOTATION_CLUSTER_IP_FAILOVER}]`;
  return complaints.add("invalid-policy", path, value);
}
