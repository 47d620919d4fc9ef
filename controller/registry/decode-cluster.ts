import { ANNOTATION_COMPLETE, LABEL_CLUSTER_SET, LABEL_REGION } from "../../api/keys.ts";
import { isClusterSetId, isLabelValue, isSubdomainName } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import { parseLabel } from "../../api/parse/parse-label.ts";
import { parseProperties } from "../../api/parse/parse-properties.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { timeOf } from "../../api/parse/time.ts";
import type { ClusterFact } from "../model/facts.ts";
import { MOST_LEASE_SECONDS } from "../model/limits.ts";
import { LEASE_NAME } from "./names.ts";
import { isOwn } from "./place.ts";
import type { Registry } from "./registry.ts";

/**
 * Reads the Lease by which a cluster says who it is, by whoever wrote it. A Lease of another name gives neither fact
 * nor problem. One that claims another cluster, or does not say who renews it, when, and for how long, gives no fact.
 */
export function decodeCluster(
  object: unknown,
  registry: Pick<Registry, "cluster" | "namespace">,
): Parsed<ClusterFact> {
  const { complaints, key, namespace } = parseObjectName("Lease", object, isSubdomainName);
  if (key !== `${namespace}/${LEASE_NAME}`) {
    return { object: complaints.object, problems: [], ...(key && { key }) };
  }
  const result = { object: complaints.object, key, problems: complaints.problems };
  if (namespace !== registry.namespace) {
    complaints.add("misplaced", "metadata.namespace", namespace);
    return result;
  }
  if (!isOwn(object, registry.cluster, complaints)) return result;
  const uid = fieldAt(object, "spec", "holderIdentity");
  const renewal = fieldAt(object, "spec", "renewTime");
  const leaseSeconds = fieldAt(object, "spec", "leaseDurationSeconds");
  if (typeof uid !== "string" || !isLabelValue(uid)) {
    complaints.add("invalid-object", "spec.holderIdentity", uid);
  } else if (typeof renewal !== "string" || timeOf(renewal) === undefined) {
    complaints.add("invalid-object", "spec.renewTime", renewal);
  } else if (!isLeaseSeconds(leaseSeconds)) {
    complaints.add("invalid-object", "spec.leaseDurationSeconds", leaseSeconds);
  } else {
    const clusterSet = parseLabel(object, LABEL_CLUSTER_SET, isClusterSetId, complaints);
    const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
    const properties = parseProperties(object, complaints, new Interner());
    const fact: ClusterFact = {
      id: registry.cluster,
      uid,
      ...(clusterSet !== undefined && { clusterSet }),
      ...(region !== undefined && { region }),
      properties: Object.fromEntries(properties ?? []),
      leaseSeconds,
      renewal,
      complete: fieldAt(object, "metadata", "annotations", ANNOTATION_COMPLETE) === "true",
    };
    return { ...result, fact };
  }
  return result;
}

function isLeaseSeconds(value: unknown): value is number {
  return (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value >= 1 &&
    value <= MOST_LEASE_SECONDS
  );
}
