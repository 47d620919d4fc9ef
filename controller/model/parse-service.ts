import { isLabelName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset, textField } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import type { ServiceFact } from "./facts.ts";
import { parseFailover } from "./parse-namespace.ts";
import { parseServiceProperties } from "./service-properties.ts";

/** Types with endpoints (KEP-1645). */
const EXPORTABLE: readonly unknown[] = ["ClusterIP", "NodePort", "LoadBalancer"];

/** Parses a Service. No fact for an invalid name, type or family; invalid ports and policies are left out. */
export function parseService(object: unknown): Parsed<ServiceFact> {
  return parseObject("Service", object, isLabelName, (key, complaints) => {
    const type = fieldAt(object, "spec", "type");
    const failover = parseFailover(object, complaints);
    const uid = textField(fieldAt(object, "metadata"), "uid");
    const base = {
      key,
      ...(uid !== undefined && { uid }),
      ...(failover !== undefined && { failover }),
    };
    if (type === "ExternalName") return base;
    if (!isUnset(type) && !EXPORTABLE.includes(type)) {
      return complaints.add("invalid-object", "spec.type", type);
    }
    const publishesUnready = fieldAt(object, "spec", "publishNotReadyAddresses") === true;
    const headless = fieldAt(object, "spec", "clusterIP") === "None";
    const properties = parseServiceProperties(object, headless, complaints);
    return properties && { ...base, properties, ...(publishesUnready && { publishesUnready }) };
  });
}
