import { LABEL_REGISTRY } from "../../api/keys.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { type Drain, parseDrain } from "../model/drain.ts";
import { type PeerScope, parsePeerScope } from "../model/peer-scope.ts";
import { registryNamespace } from "./names.ts";

/** A member's namespace on a hub. */
export interface NamespaceOfMember {
  readonly cluster: string;
  /** Undefined: invalid. */
  readonly scope: PeerScope | undefined;
  readonly drain?: Drain;
}

/**
 * Decodes a namespace of a hub with `LABEL_REGISTRY`. Its name must follow from the cluster ID. A misnamed or
 * terminating one makes no member. Only the hub's operator can write it, so its declarations are trusted.
 */
export function decodeNamespace(object: unknown): Parsed<NamespaceOfMember> {
  const name = fieldAt(object, "metadata", "name");
  const label = fieldAt(object, "metadata", "labels", LABEL_REGISTRY);
  const isNamed = typeof name === "string" && isLabelName(name);
  const complaints = new Complaints(`Namespace ${isNamed ? name : "(unnamed)"}`);
  const result = { object: complaints.object, problems: complaints.problems };
  if (isUnset(label)) return result;
  if (typeof label !== "string" || !isClusterId(label)) {
    complaints.add("invalid-label", `metadata.labels[${LABEL_REGISTRY}]`, label);
  } else if (registryNamespace(label) !== name) {
    complaints.add("misplaced", "metadata.name", name);
  } else if (isUnset(fieldAt(object, "metadata", "deletionTimestamp"))) {
    const scope = parsePeerScope(object, complaints);
    const drain = parseDrain(object, complaints);
    return { ...result, fact: { cluster: label, scope, ...(drain !== undefined && { drain }) } };
  }
  return result;
}
