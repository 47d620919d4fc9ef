import { type Address, FAMILIES, isAddress, parseAddress } from "../../api/address.ts";
import { ANNOTATION_ON_ENDPOINT_DEATH, ANNOTATION_SCHEDULER } from "../../api/keys.ts";
import { isLabelName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import { CLAIMS, parsePort, parsePorts } from "../../api/parse/parse-ports.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { parseCreated } from "../../api/parse/time.ts";
import { isScheduler, type Scheduler } from "../../api/scheduler.ts";
import type { ImportFact, TrafficDistribution } from "./facts.ts";
import { parseSelectors } from "./parse-selectors.ts";

/**
 * VIPs of one import. The CRD allows two; more come from manifests. Each has a rule for every port: without a
 * limit, one object of 300 kB would ask for twenty million of them.
 */
const MOST_VIPS = 64;
/** Ports of one import; more than any Service is known to have. */
const MOST_PORTS = 1000;
/** Kubernetes' default of sessionAffinityConfig.clientIP.timeoutSeconds, and its maximum: a day. */
const DEFAULT_AFFINITY_SECONDS = 10800;
const MOST_AFFINITY_SECONDS = 86400;

/**
 * Reads a ServiceImport (v1alpha1 or v1beta1, one schema). An object whose name or type is unusable gives no
 * fact; VIPs, ports and policies that are wrong are left out one by one.
 */
export function parseImport(
  object: unknown,
  interner: Interner = new Interner(),
): Parsed<ImportFact> {
  const { complaints, key } = parseObjectName("ServiceImport", object, isLabelName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const spec = fieldAt(object, "spec");
  const type = fieldAt(spec, "type");
  if (type !== "ClusterSetIP" && type !== "Headless") {
    complaints.add("invalid-object", "spec.type", type);
    return { ...result, key };
  }
  const affinitySeconds = parseAffinity(spec, complaints);
  const selectors = parseSelectors(object, complaints);
  const trafficDistribution = parseDistribution(spec, complaints);
  const reset = parseOnEndpointDeath(object, complaints);
  const scheduler = parseScheduler(object, complaints);
  const fact: ImportFact = {
    key,
    created: parseCreated(object, complaints) ?? Number.POSITIVE_INFINITY,
    headless: type === "Headless",
    vips: parseVips(spec, complaints),
    ports: interner.ports(
      parsePorts(
        fieldAt(spec, "ports"),
        "spec.ports",
        MOST_PORTS,
        CLAIMS.import,
        complaints,
        parsePort,
      ),
    ),
    nodeLocal: parseNodeLocal(spec, complaints),
    ...(affinitySeconds !== undefined && { affinitySeconds }),
    ...(selectors !== undefined && { selectors }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
    ...(reset && { onEndpointDeath: "reset" }),
    ...(scheduler !== undefined && { scheduler }),
  };
  return { ...result, key, fact };
}

function parseVips(spec: unknown, complaints: Complaints): Address[] {
  const families = parseFamilies(spec, complaints);
  const ips = fieldAt(spec, "ips");
  if (isUnset(ips)) return [];
  if (!Array.isArray(ips)) {
    complaints.add("invalid-object", "spec.ips", ips);
    return [];
  }
  if (ips.length > MOST_VIPS) complaints.add("too-many-vips", "spec.ips", ips.length);
  const vips = new Map<string, Address>();
  for (const [i, ip] of ips.slice(0, MOST_VIPS).entries()) {
    const vip = typeof ip === "string" ? parseAddress(ip) : "invalid-address";
    if (!isAddress(vip)) complaints.add(vip, `spec.ips[${i}]`, ip);
    else if (!families.includes(vip.family)) complaints.add("wrong-family", `spec.ips[${i}]`, ip);
    else vips.set(vip.text, vip);
  }
  return [...vips.values()];
}

/** `spec.ipFamilies`, or both if it is unset (KEP-1645: when given, `ips` correspond to it). */
function parseFamilies(spec: unknown, complaints: Complaints): readonly unknown[] {
  const families = fieldAt(spec, "ipFamilies");
  if (isUnset(families)) return FAMILIES;
  if (!Array.isArray(families)) {
    complaints.add("invalid-object", "spec.ipFamilies", families);
    return FAMILIES;
  }
  for (const [i, family] of families.entries()) {
    if (!FAMILIES.includes(family)) {
      complaints.add("invalid-object", `spec.ipFamilies[${i}]`, family);
    }
  }
  return families.length === 0 ? FAMILIES : families;
}

function parseAffinity(spec: unknown, complaints: Complaints): number | undefined {
  const affinity = fieldAt(spec, "sessionAffinity");
  if (affinity !== "ClientIP") {
    if (!isUnset(affinity) && affinity !== "None" && affinity !== "") {
      complaints.add("invalid-policy", "spec.sessionAffinity", affinity);
    }
    return undefined;
  }
  const seconds = fieldAt(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds");
  if (isUnset(seconds)) return DEFAULT_AFFINITY_SECONDS;
  const good =
    typeof seconds === "number" &&
    Number.isInteger(seconds) &&
    seconds >= 1 &&
    seconds <= MOST_AFFINITY_SECONDS;
  if (good) return seconds;
  complaints.add("invalid-policy", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds);
  return DEFAULT_AFFINITY_SECONDS;
}

function parseDistribution(spec: unknown, complaints: Complaints): TrafficDistribution | undefined {
  const value = fieldAt(spec, "trafficDistribution");
  // PreferClose is the older name of PreferSameZone (KEP-3015).
  if (value === "PreferClose" || value === "PreferSameZone") return "PreferSameZone";
  if (value === "PreferSameNode") return "PreferSameNode";
  if (!isUnset(value)) complaints.add("invalid-policy", "spec.trafficDistribution", value);
  return undefined;
}

function parseNodeLocal(spec: unknown, complaints: Complaints): boolean {
  const value = fieldAt(spec, "internalTrafficPolicy");
  if (value === "Local") return true;
  if (!isUnset(value) && value !== "Cluster") {
    complaints.add("invalid-policy", "spec.internalTrafficPolicy", value);
  }
  return false;
}

/** True if connections to endpoints that are gone are to be reset. */
function parseOnEndpointDeath(object: unknown, complaints: Complaints): boolean {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_ON_ENDPOINT_DEATH);
  if (value === "reset") return true;
  if (!isUnset(value) && value !== "keep") {
    complaints.add(
      "invalid-policy",
      `metadata.annotations[${ANNOTATION_ON_ENDPOINT_DEATH}]`,
      value,
    );
  }
  return false;
}

function parseScheduler(object: unknown, complaints: Complaints): Scheduler | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_SCHEDULER);
  if (isScheduler(value)) return value;
  if (!isUnset(value)) {
    complaints.add("invalid-policy", `metadata.annotations[${ANNOTATION_SCHEDULER}]`, value);
  }
  return undefined;
}
