import { FAMILIES, type Family } from "../../api/address.ts";
import { isQualifiedName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseText } from "../../api/parse/parse-text.ts";
import type { ServiceProperties } from "./facts.ts";
import { parseServicePorts } from "./parse-service-ports.ts";

/** Kubernetes' limit of timeoutSeconds. */
const MOST_AFFINITY_SECONDS = 86_400;

/**
 * Parses the exported properties of a Service, or of a ServiceImport, which has the same fields. Undefined without a
 * valid IP family. Invalid ports and policies are left out. `unstated`: the IP families of an object without the field; default: it is invalid.
 */
export function parseServiceProperties(
  object: unknown,
  headless: boolean,
  complaints: Complaints,
  unstated: readonly Family[] = [],
): ServiceProperties | undefined {
  const spec = fieldAt(object, "spec");
  const isUnstated = unstated.length > 0 && isUnset(fieldAt(spec, "ipFamilies"));
  const families = isUnstated ? unstated : parseFamilies(spec, complaints);
  if (families.length === 0) return undefined;
  const affinity = parseAffinity(spec, complaints);
  const internalTrafficPolicy = parsePolicy(spec, complaints);
  const trafficDistribution = parseText(
    spec,
    "trafficDistribution",
    "invalid-policy",
    isQualifiedName,
    "spec",
    complaints,
  );
  return {
    headless,
    ports: parseServicePorts(fieldAt(spec, "ports"), "spec.ports", "import", complaints),
    families,
    ...affinity,
    ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
  };
}

function parseFamilies(spec: unknown, complaints: Complaints): readonly Family[] {
  const list = fieldAt(spec, "ipFamilies");
  const families = FAMILIES.filter((family) => Array.isArray(list) && list.includes(family));
  // The Service's order: its first family is that of its first address.
  if (Array.isArray(list) && list[0] === "IPv6") families.reverse();
  if (!Array.isArray(list) || list.length !== families.length || families.length === 0) {
    complaints.add("invalid-object", "spec.ipFamilies", list);
  }
  return families;
}

function parseAffinity(
  spec: unknown,
  complaints: Complaints,
): Pick<ServiceProperties, "sessionAffinity" | "affinitySeconds"> {
  const affinity = fieldAt(spec, "sessionAffinity");
  if (affinity !== "ClientIP") {
    if (!isUnset(affinity) && affinity !== "None" && affinity !== "") {
      complaints.add("invalid-policy", "spec.sessionAffinity", affinity);
    }
    return { sessionAffinity: "None" };
  }
  const seconds = fieldAt(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds");
  if (isUnset(seconds)) return { sessionAffinity: "ClientIP" };
  const good =
    typeof seconds === "number" &&
    Number.isInteger(seconds) &&
    seconds >= 1 &&
    seconds <= MOST_AFFINITY_SECONDS;
  if (good) return { sessionAffinity: "ClientIP", affinitySeconds: seconds };
  complaints.add("invalid-policy", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds);
  return { sessionAffinity: "ClientIP" };
}

function parsePolicy(
  spec: unknown,
  complaints: Complaints,
): ServiceProperties["internalTrafficPolicy"] {
  const policy = fieldAt(spec, "internalTrafficPolicy");
  if (policy === "Cluster" || policy === "Local") return policy;
  if (isUnset(policy) || policy === "") return undefined;
  return complaints.add("invalid-policy", "spec.internalTrafficPolicy", policy);
}
