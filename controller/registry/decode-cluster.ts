import {
  ANNOTATION_COMPLETE,
  ANNOTATION_COMPLETE_EXCEPT,
  ANNOTATION_VERSION,
  isOwnProperty,
  LABEL_CLUSTER_SET,
  LABEL_REGION,
} from "../../api/keys.ts";
import {
  isClusterSetId,
  isLabelName,
  isLabelValue,
  isSubdomainName,
  namesOf,
  type ObjectKey,
} from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { parseProperties } from "../../api/parse/parse-properties.ts";
import { parseLabel } from "../../api/parse/parse-text.ts";
import { timeOf } from "../../api/parse/time-span.ts";
import { parseDrain } from "../model/drain.ts";
import type { ClusterFact, Exceptions } from "../model/facts.ts";
import { MOST_EXCEPT_CHARACTERS, MOST_LEASE_SECONDS } from "../model/limits.ts";
import { parseAccepted } from "./accepted-ranges.ts";
import { LEASE_NAME } from "./names.ts";
import { isFromCluster, type Registry } from "./validate-metadata.ts";

/**
 * Decodes the Lease of a registry. Leases of other names are ignored. No fact for a Lease of another cluster, or
 * without valid holder, time and duration.
 */
export function decodeCluster(
  object: unknown,
  registry: Pick<Registry, "cluster" | "namespace">,
): Parsed<ClusterFact> {
  return parseObject("Lease", object, isSubdomainName, (key, complaints) =>
    factOf(object, key, registry, complaints),
  );
}

function factOf(
  object: unknown,
  key: ObjectKey,
  registry: Pick<Registry, "cluster" | "namespace">,
  complaints: Complaints,
): ClusterFact | undefined {
  const { namespace, name } = namesOf(key);
  if (name !== LEASE_NAME) return undefined;
  if (namespace !== registry.namespace) {
    return complaints.add("misplaced", "metadata.namespace", namespace);
  }
  if (!isFromCluster(object, registry.cluster, complaints)) return undefined;
  const uid = fieldAt(object, "spec", "holderIdentity");
  const renewal = fieldAt(object, "spec", "renewTime");
  const leaseSeconds = fieldAt(object, "spec", "leaseDurationSeconds");
  if (typeof uid !== "string" || !isLabelValue(uid)) {
    return complaints.add("invalid-object", "spec.holderIdentity", uid);
  }
  if (typeof renewal !== "string" || timeOf(renewal) === undefined) {
    return complaints.add("invalid-object", "spec.renewTime", renewal);
  }
  if (!isLeaseSeconds(leaseSeconds)) {
    return complaints.add("invalid-object", "spec.leaseDurationSeconds", leaseSeconds);
  }
  const clusterSet = parseLabel(object, LABEL_CLUSTER_SET, isClusterSetId, complaints);
  const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
  const version = versionOf(object, complaints);
  const drain = parseDrain(object, complaints);
  const accepts = parseAccepted(object, complaints);
  const completeExcept = parseCompleteness(object, complaints);
  const properties = parseProperties(object, complaints, new Interner());
  return {
    id: registry.cluster,
    uid,
    ...(clusterSet !== undefined && { clusterSet }),
    ...(region !== undefined && { region }),
    properties: Object.fromEntries((properties ?? new Map()).entries().filter(isOfCluster)),
    leaseSeconds,
    renewal,
    ...(version !== undefined && { version }),
    ...(drain !== undefined && { drain }),
    ...(accepts !== undefined && { accepts }),
    completeExcept,
  };
}

function parseCompleteness(object: unknown, complaints: Complaints): Exceptions | undefined {
  if (fieldAt(object, "metadata", "annotations", ANNOTATION_COMPLETE) === "true") return new Set();
  const except = fieldAt(object, "metadata", "annotations", ANNOTATION_COMPLETE_EXCEPT);
  if (isUnset(except)) return undefined;
  if (typeof except === "string" && except.length <= MOST_EXCEPT_CHARACTERS) {
    const all = except.split(",");
    if (all.every((one) => /^[^/]+(\/[^/]+)?$/.test(one) && one.split("/").every(isLabelName)))
      return new Set(all);
  }
  const field = `metadata.annotations[${ANNOTATION_COMPLETE_EXCEPT}]`;
  return complaints.add("invalid-object", field, except);
}

/**
 * Whether a property describes the cluster. Earlier releases publish all ClusterProperties, and after a roll back
 * that includes what a later one wrote about clusters: all slices of such a cluster would change.
 */
function isOfCluster([name]: readonly [string, string]): boolean {
  return isOwnProperty(name);
}

/** Any release, known or not. */
function versionOf(object: unknown, complaints: Complaints): string | undefined {
  const version = fieldAt(object, "metadata", "annotations", ANNOTATION_VERSION);
  if (isUnset(version)) return undefined;
  if (typeof version === "string" && isLabelValue(version)) return version;
  return complaints.add("invalid-object", `metadata.annotations[${ANNOTATION_VERSION}]`, version);
}

function isLeaseSeconds(value: unknown): value is number {
  return (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value >= 1 &&
    value <= MOST_LEASE_SECONDS
  );
}
