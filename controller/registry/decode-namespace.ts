import type { Cidr } from "../../api/cidr.ts";
import { LABEL_REGISTRY } from "../../api/keys.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { parseEndpointCidrs } from "../model/parse-endpoint-cidrs.ts";
import { registryNamespace } from "./names.ts";

/** A namespace of a hub by which a cluster is a member. */
export interface NamespaceOfMember {
  /** Id of the cluster. */
  readonly cluster: string;
  /** Ranges that its endpoints lie in; empty: nothing is declared; undefined: what is declared is no list of ranges. */
  readonly endpointCidrs: readonly Cidr[] | undefined;
}

/**
 * Reads a namespace of a hub with `LABEL_REGISTRY`. Its name follows from the id, so that no namespace takes the place of
 * another; one that has another name, or is being deleted, makes nobody a member. Whoever publishes in it may not write
 * it: what it declares is the word of whoever runs the hub.
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
    const endpointCidrs = parseEndpointCidrs(object, complaints);
    return { ...result, fact: { cluster: label, endpointCidrs } };
  }
  return result;
}
