import { clusterOfRotation, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isSubdomainName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import { type Drain, parseDrain } from "./drain.ts";
import { parseRotation, type RotationRecord } from "./rotation.ts";

/** A ClusterProperty (KEP-2149). */
export interface PropertyFact {
  readonly name: string;
  /** Any text. */
  readonly value: string;
  /** Of the cluster; only on `PROPERTY_CLUSTER_ID`. */
  readonly drain?: Drain;
  /** Only on `rotationProperty`. */
  readonly rotation?: RotationRecord;
}

/** Parses a ClusterProperty (v1alpha1 or v1beta1). */
export function parseProperty(object: unknown): Parsed<PropertyFact> {
  return parseClusterObject("ClusterProperty", object, isSubdomainName, (name, complaints) => {
    const value = fieldAt(object, "spec", "value");
    if (typeof value !== "string") return complaints.add("invalid-object", "spec.value", value);
    const drain = name === PROPERTY_CLUSTER_ID ? parseDrain(object, complaints) : undefined;
    const rotation =
      clusterOfRotation(name) === undefined ? undefined : parseRotation(object, complaints);
    return {
      ...{ name, value },
      ...(drain !== undefined && { drain }),
      ...(rotation !== undefined && { rotation }),
    };
  });
}
