import {
  ANNOTATION_ACCEPTED_CIDRS,
  ANNOTATION_CLUSTER_PROPERTIES,
  ANNOTATION_COMPLETE,
  ANNOTATION_COMPLETE_EXCEPT,
  ANNOTATION_DRAIN,
  ANNOTATION_EXPORTED_ANNOTATIONS,
  ANNOTATION_EXPORTED_AT,
  ANNOTATION_EXPORTED_LABELS,
  ANNOTATION_FORMAT,
  ANNOTATION_IP_FAMILIES,
  ANNOTATION_LEFT_OUT,
  ANNOTATION_VERSION,
  CONTROLLER_NAME,
  COORDINATION_V1,
  DISCOVERY_V1,
  LABEL_CLUSTER_SET,
  LABEL_MANAGED_BY,
  LABEL_PROXY_NAME,
  LABEL_RECORD,
  LABEL_REGION,
  LABEL_SOURCE_CLUSTER,
  MCS_GROUP,
  MCS_VERSIONS,
  PROXY_NAME,
} from "../../api/keys.ts";
import { namesOf } from "../../api/names.ts";
import { drainText } from "../model/drain.ts";
import { encodeContent, encodeProperties } from "../model/encode-service.ts";
import type { ClusterFact, ExportedMetadata, ExportRecord, SliceFact } from "../model/facts.ts";
import { inKeyOrder, type Manifest } from "../model/manifest.ts";
import { LEASE_NAME, recordLabel, recordName } from "./names.ts";

/**
 * Not the release: an upgrade would rewrite every record. A higher format only adds fields, which older readers ignore
 * (docs/design/0026-releases.md).
 */
const RECORD_FORMAT = "1";

/**
 * The record of an exported Service. Labels and annotations with user-chosen keys are carried as JSON, so that no
 * component reads them.
 */
export function encodeRecord(record: ExportRecord, namespace: string): Manifest {
  return {
    apiVersion: `${MCS_GROUP}/${MCS_VERSIONS[0]}`,
    kind: "ServiceImport",
    metadata: {
      name: recordName(record.key),
      namespace,
      labels: {
        [LABEL_RECORD]: recordLabel(record.key),
        [LABEL_SOURCE_CLUSTER]: record.cluster,
      },
      annotations: {
        [ANNOTATION_FORMAT]: RECORD_FORMAT,
        [ANNOTATION_EXPORTED_AT]: new Date(record.exported).toISOString(),
        ...(record.families.join() !== "IPv4" && {
          [ANNOTATION_IP_FAMILIES]: record.families.join(),
        }),
        ...(record.leftOut !== undefined && { [ANNOTATION_LEFT_OUT]: record.leftOut.join() }),
        ...encodeMetadata(record.metadata),
      },
    },
    spec: { ...encodeProperties(record), ipFamilies: record.families },
  };
}

/** A slice of a record. */
export function encodeSlice(slice: SliceFact, cluster: string): Manifest {
  const { namespace, name } = namesOf(slice.key);
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace,
      labels: {
        [LABEL_RECORD]: recordLabel(slice.service),
        [LABEL_SOURCE_CLUSTER]: cluster,
        [LABEL_MANAGED_BY]: CONTROLLER_NAME,
        [LABEL_PROXY_NAME]: PROXY_NAME,
      },
    },
    ...encodeContent(slice),
  };
}

/** The Lease of a registry. `properties`: from `publishable`. */
export function encodeCluster(cluster: ClusterFact, namespace: string): Manifest {
  return {
    apiVersion: COORDINATION_V1,
    kind: "Lease",
    metadata: {
      name: LEASE_NAME,
      namespace,
      labels: {
        [LABEL_SOURCE_CLUSTER]: cluster.id,
        ...(cluster.clusterSet !== undefined && { [LABEL_CLUSTER_SET]: cluster.clusterSet }),
        ...(cluster.region !== undefined && { [LABEL_REGION]: cluster.region }),
      },
      annotations: {
        [ANNOTATION_CLUSTER_PROPERTIES]: JSON.stringify(inKeyOrder(cluster.properties)),
        ...completeness(cluster),
        ...(cluster.version !== undefined && { [ANNOTATION_VERSION]: cluster.version }),
        ...(cluster.drain !== undefined && { [ANNOTATION_DRAIN]: drainText(cluster.drain) }),
        ...(cluster.accepts !== undefined && {
          [ANNOTATION_ACCEPTED_CIDRS]: JSON.stringify(inKeyOrder(cluster.accepts)),
        }),
      },
    },
    spec: {
      holderIdentity: cluster.uid,
      leaseDurationSeconds: cluster.leaseSeconds,
      renewTime: cluster.renewal,
    },
  };
}

/** Earlier releases do not know the exceptions: for them, the registry is not complete then. */
function completeness({ completeExcept: except }: ClusterFact): Record<string, string> {
  if (except === undefined) return {};
  if (except.size === 0) return { [ANNOTATION_COMPLETE]: "true" };
  return { [ANNOTATION_COMPLETE_EXCEPT]: [...except].join() };
}

function encodeMetadata({ labels, annotations }: ExportedMetadata): Record<string, string> {
  const encoded: Record<string, string> = {};
  for (const [key, map] of [
    [ANNOTATION_EXPORTED_LABELS, labels],
    [ANNOTATION_EXPORTED_ANNOTATIONS, annotations],
  ] as const) {
    if (Object.keys(map).length > 0) encoded[key] = JSON.stringify(inKeyOrder(map));
  }
  return encoded;
}
