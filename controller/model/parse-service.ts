import { isLabelName } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { ServiceFact } from "./facts.ts";
import { parseServiceProperties } from "./service-properties.ts";

/** Types of a Service that have endpoints; remote ones are reached through the ClusterSetIP alone (KEP-1645). */
const EXPORTABLE: readonly unknown[] = ["ClusterIP", "NodePort", "LoadBalancer"];

/** Reads a Service. One of unusable name, type or families gives no fact; ports and policies are left out one by one. */
export function parseService(object: unknown): Parsed<ServiceFact> {
  const { complaints, key } = parseObjectName("Service", object, isLabelName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const type = fieldAt(object, "spec", "type");
  if (type === "ExternalName") return { ...result, key, fact: { key } };
  if (!isUnset(type) && !EXPORTABLE.includes(type)) {
    complaints.add("invalid-object", "spec.type", type);
    return { ...result, key };
  }
  const headless = fieldAt(object, "spec", "clusterIP") === "None";
  const properties = parseServiceProperties(object, headless, complaints);
  if (properties === undefined) return { ...result, key };
  return { ...result, key, fact: { key, properties } };
}
