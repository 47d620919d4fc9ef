import {
  ANNOTATION_CLUSTER_PROPERTIES,
  ANNOTATION_SHIFT,
  CONTROLLER_NAME,
  DISCOVERY_V1,
  LABEL_MANAGED_BY,
  LABEL_PROXY_NAME,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
  PROXY_NAME,
} from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { encodeContent } from "../model/encode-service.ts";
import type { EndpointFact, SliceFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { parseImportedSlice } from "../model/parse-imported-slice.ts";
import { parseSliceContent } from "../model/slice-content.ts";

export type SliceContent = Pick<SliceFact, "family" | "ports" | "endpoints">;

/** Metadata of an imported slice. */
interface SliceMetadata {
  readonly name: string;
  /** The import. */
  readonly service: ObjectKey;
  /** Source cluster. */
  readonly cluster: string;
  readonly region: string | undefined;
  /** Value of `ANNOTATION_CLUSTER_PROPERTIES`. */
  readonly properties: string | undefined;
  /** Value of `ANNOTATION_SHIFT`. */
  readonly shift: string | undefined;
}

/** An imported slice. */
export function sliceManifest(metadata: SliceMetadata, content: SliceContent): Manifest {
  const { cluster, region, properties, shift } = metadata;
  const { namespace, name } = namesOf(metadata.service);
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      name: metadata.name,
      namespace,
      labels: {
        [LABEL_SERVICE_NAME]: name,
        [LABEL_SOURCE_CLUSTER]: cluster,
        ...(region !== undefined && { [LABEL_REGION]: region }),
        [LABEL_MANAGED_BY]: CONTROLLER_NAME,
        [LABEL_PROXY_NAME]: PROXY_NAME,
      },
      ...((properties !== undefined || shift !== undefined) && {
        annotations: {
          ...(properties !== undefined && { [ANNOTATION_CLUSTER_PROPERTIES]: properties }),
          ...(shift !== undefined && { [ANNOTATION_SHIFT]: shift }),
        },
      }),
    },
    ...encodeContent(content),
  };
}

/** The content of a stale or drained cluster's slice: ready endpoints only serve, as a last resort. */
export function staleContent<Content extends SliceContent>(content: Content): Content {
  const endpoints = content.endpoints.map(
    (endpoint): EndpointFact =>
      endpoint.ready ? { ...endpoint, ready: false, serving: true } : endpoint,
  );
  return { ...content, endpoints };
}

/**
 * The content of a slice before `staleContent`. Kubernetes calls a pod that serves and does not terminate ready, so only endpoints
 * that their exporter held back at that moment, for 30 s at most, were not.
 */
export function restoredContent<Content extends SliceContent>(content: Content): Content {
  const endpoints = content.endpoints.map(
    (endpoint): EndpointFact =>
      endpoint.serving && !endpoint.terminating ? { ...endpoint, ready: true } : endpoint,
  );
  return { ...content, endpoints };
}

/**
 * The present imported slice with another content. Undefined if it is no imported slice. Fields of other writers, and a window
 * in which nodes adopt its conditions, are left out.
 */
export function changedSlice(
  slice: unknown,
  change: (content: SliceContent) => SliceContent,
): Manifest | undefined {
  const { fact } = parseImportedSlice(slice);
  const unlimited = { clusterSetCidrs: [], endpointCidrs: [] };
  const content = parseSliceContent(slice, unlimited, new Complaints(""));
  if (fact === undefined || content === undefined) return undefined;
  const metadata = {
    name: namesOf(fact.key).name,
    service: fact.import,
    cluster: fact.cluster,
    region: textField(fieldAt(slice, "metadata", "labels"), LABEL_REGION),
    properties: textField(fieldAt(slice, "metadata", "annotations"), ANNOTATION_CLUSTER_PROPERTIES),
    shift: undefined,
  };
  return sliceManifest(metadata, change(content));
}
