import { type Address, FAMILIES, isAddress, parseAddress } from "../../api/address.ts";
import { gcd } from "../../api/gcd.ts";
import { HEALTH_SCOPES } from "../../api/health.ts";
import {
  ANNOTATION_CLUSTER_WEIGHTS,
  ANNOTATION_HEALTH,
  ANNOTATION_MIN_READY,
  ANNOTATION_ON_ENDPOINT_DEATH,
  ANNOTATION_PREVIOUS_IPS,
  ANNOTATION_SCHEDULER,
  ANNOTATION_UDP,
  SCHEDULERS,
} from "../../api/keys.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import { CLAIMS, parsePort, parsePorts } from "../../api/parse/parse-ports.ts";
import { parseCreated } from "../../api/parse/time-span.ts";
import { parseTierPolicy } from "../../api/tiers/tier-policy.ts";
import type { ImportFact, MinReady } from "./facts.ts";

/** Maximum VIPs of one import, because each has a rule per port. The CRD allows two; manifests may have more. */
const MOST_VIPS = 64;
/** Maximum previous VIPs: one of each family. */
const MOST_PREVIOUS_VIPS = 2;
/** Maximum ports of one import; more than any known Service has. */
const MOST_PORTS = 1000;
/** Kubernetes' default of sessionAffinityConfig.clientIP.timeoutSeconds, and its maximum: a day. */
const DEFAULT_AFFINITY_SECONDS = 10800;
const MOST_AFFINITY_SECONDS = 86400;

/** Values of the policy fields, with their meanings. PreferClose is the older name of PreferSameZone (KEP-3015). */
const DISTRIBUTIONS = {
  PreferClose: "PreferSameZone",
  PreferSameZone: "PreferSameZone",
  PreferSameNode: "PreferSameNode",
} as const;
const NODE_LOCAL = { Local: true, Cluster: false } as const;
const RESETS = { reset: true, keep: false } as const;
const FOLLOWS = { follow: true, keep: false } as const;
const SCHEDULER_NAMES = Object.fromEntries(SCHEDULERS.map((name) => [name, name] as const));
const HEALTH_SCOPE_NAMES = Object.fromEntries(HEALTH_SCOPES.map((name) => [name, name] as const));

/** Parses a ServiceImport (v1alpha1 or v1beta1). Invalid VIPs, ports and policies are ignored individually. */
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
  const tierPolicy = parseTierPolicy(object, complaints);
  const clusterWeights = parseClusterWeights(object, complaints);
  const minReady = parseMinReady(object, complaints);
  const policy = <Meaning>(path: readonly string[], meanings: Readonly<Record<string, Meaning>>) =>
    parsePolicy(object, path, meanings, complaints);
  const trafficDistribution = policy(["spec", "trafficDistribution"], DISTRIBUTIONS);
  const resets = policy(["metadata", "annotations", ANNOTATION_ON_ENDPOINT_DEATH], RESETS);
  const follows = policy(["metadata", "annotations", ANNOTATION_UDP], FOLLOWS);
  const scheduler = policy(["metadata", "annotations", ANNOTATION_SCHEDULER], SCHEDULER_NAMES);
  const health = policy(["metadata", "annotations", ANNOTATION_HEALTH], HEALTH_SCOPE_NAMES);
  const fact: ImportFact = {
    key,
    created: parseCreated(object, complaints) ?? Number.POSITIVE_INFINITY,
    headless: type === "Headless",
    ...parseVips(object, complaints),
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
    nodeLocal: policy(["spec", "internalTrafficPolicy"], NODE_LOCAL) ?? false,
    ...(affinitySeconds !== undefined && { affinitySeconds }),
    ...tierPolicy,
    ...(clusterWeights !== undefined && { clusterWeights }),
    ...(minReady !== undefined && { minReady }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
    ...(resets === true && { onEndpointDeath: "reset" }),
    ...(follows === true && { udp: "follow" }),
    ...(scheduler !== undefined && { scheduler }),
    ...(health !== undefined && { health }),
  };
  return { ...result, key, fact };
}

/** The VIPs of the spec, then the previous ones that it does not list. */
function parseVips(
  object: unknown,
  complaints: Complaints,
): Pick<ImportFact, "previousVips" | "vips"> {
  const spec = fieldAt(object, "spec");
  const families = parseFamilies(spec, complaints);
  const parse = (ips: unknown, path: string, most: number) =>
    parseAddresses(ips, path, most, families, complaints);
  const listed = parse(fieldAt(spec, "ips"), "spec.ips", MOST_VIPS);
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_PREVIOUS_IPS);
  const texts = typeof text === "string" ? text.split(",", MOST_VIPS) : text;
  const path = `metadata.annotations[${ANNOTATION_PREVIOUS_IPS}]`;
  const known = new Set(listed.map((vip) => vip.text));
  const previous = parse(texts, path, MOST_PREVIOUS_VIPS).filter((vip) => !known.has(vip.text));
  return {
    vips: [...listed, ...previous],
    ...(previous.length > 0 && { previousVips: previous.map((vip) => vip.text) }),
  };
}

function parseAddresses(
  ips: unknown,
  path: string,
  most: number,
  families: readonly unknown[],
  complaints: Complaints,
): Address[] {
  if (isUnset(ips)) return [];
  if (!Array.isArray(ips)) {
    complaints.add("invalid-object", path, ips);
    return [];
  }
  if (ips.length > most) complaints.add("too-many-vips", path, ips.length);
  const vips = new Map<string, Address>();
  for (const [i, ip] of ips.slice(0, most).entries()) {
    const vip = typeof ip === "string" ? parseAddress(ip) : "invalid-address";
    if (!isAddress(vip)) complaints.add(vip, `${path}[${i}]`, ip);
    else if (!families.includes(vip.family)) complaints.add("wrong-family", `${path}[${i}]`, ip);
    else vips.set(vip.text, vip);
  }
  return [...vips.values()];
}

/** `spec.ipFamilies`, or both families if unset (KEP-1645: `ips` correspond to it). */
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

/** The meaning of a policy field; an unknown value counts as unset. */
function parsePolicy<Meaning>(
  object: unknown,
  path: readonly string[],
  meanings: Readonly<Record<string, Meaning>>,
  complaints: Complaints,
): Meaning | undefined {
  const value = fieldAt(object, ...path);
  if (isUnset(value)) return undefined;
  if (typeof value === "string" && Object.hasOwn(meanings, value)) return meanings[value];
  const [first, second, annotation] = path;
  const shownPath = annotation === undefined ? path.join(".") : `${first}.${second}[${annotation}]`;
  return complaints.add("invalid-policy", shownPath, value);
}

/** Maximum sum of an import's weights: nftables has an element for each unit, of each VIP and port. */
const MOST_WEIGHT = 1_000;
/** Maximum clusters of a list, and characters, so that a list of zeros is bounded, too. */
const MOST_CLUSTERS = 1_000;
const MOST_CHARACTERS = 65_536;

/** `c1=90`; a number has no leading zero, so that it is read in one way. */
const ENTRY = /^([^=]+)=(0|[1-9]\d{0,3})$/;

/**
 * The weights of clusters, such as `old=90,new=10`, without a common divisor and without zeros; undefined if there are none. Any error rejects
 * the whole list, because the other weights would have other shares.
 */
function parseClusterWeights(
  object: unknown,
  complaints: Complaints,
): ReadonlyMap<string, number> | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_CLUSTER_WEIGHTS);
  if (isUnset(text)) return undefined;
  const weights = typeof text === "string" ? weightsOf(text) : undefined;
  const sum = weights?.values().reduce((total, weight) => total + weight, 0) ?? 0;
  if (weights === undefined || sum < 1 || sum > MOST_WEIGHT) {
    const path = `metadata.annotations[${ANNOTATION_CLUSTER_WEIGHTS}]`;
    return complaints.add("invalid-policy", path, text);
  }
  const positive = [...weights].filter(([, weight]) => weight > 0);
  const divisor = positive.reduce((common, [, weight]) => gcd(common, weight), 0);
  return new Map(positive.map(([cluster, weight]) => [cluster, weight / divisor]));
}

function weightsOf(text: string): Map<string, number> | undefined {
  const entries = text.length > MOST_CHARACTERS ? [] : text.split(",");
  if (entries.length > MOST_CLUSTERS) return undefined;
  const weights = new Map<string, number>();
  for (const entry of entries) {
    const [, cluster = "", weight] = ENTRY.exec(entry.trim()) ?? [];
    if (!isClusterId(cluster) || weights.has(cluster)) return undefined;
    weights.set(cluster, Number(weight));
  }
  return weights;
}

/** Maximum number: more than any tier has. */
const MOST_ENDPOINTS = 100_000;

/** Parses the annotation, such as `3` or `30%`; undefined if there is none, or if it is invalid. */
function parseMinReady(object: unknown, complaints: Complaints): MinReady | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_MIN_READY);
  if (isUnset(text)) return undefined;
  const [, digits, isPercent] = (typeof text === "string" && /^(\d{1,6})(%?)$/.exec(text)) || [];
  const value = Number(digits);
  if (value >= 1 && isPercent === "%" && value <= 100) return { percent: value };
  if (value >= 1 && isPercent === "" && value <= MOST_ENDPOINTS) return { endpoints: value };
  return complaints.add("invalid-policy", `metadata.annotations[${ANNOTATION_MIN_READY}]`, text);
}
