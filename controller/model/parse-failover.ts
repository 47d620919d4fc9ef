import { ANNOTATION_CLUSTER_IP_FAILOVER } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

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
