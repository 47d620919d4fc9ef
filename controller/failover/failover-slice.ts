import { createHash } from "node:crypto";
import {
  DISCOVERY_V1,
  FAILOVER_MANAGER,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_SLICE,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import { encodeContent } from "../model/encode-service.ts";
import type { EndpointFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import type { RemoteSlice } from "./nearest-remote.ts";

/** A failover slice that is wanted. */
export interface FailoverSlice extends FailoverSliceFact {
  readonly cluster: string;
  /** False: in their cluster, its endpoints are only serving, or what they are is not known. */
  readonly ready: boolean;
}

/** The Service that owns failover slices. */
export interface Owner {
  readonly key: ObjectKey;
  readonly uid: string;
}

/** The failover slice that lists these endpoints for a Service. PURE. */
export function failoverSlice(
  service: ObjectKey,
  { cluster, ready, slice }: RemoteSlice,
): FailoverSlice {
  const { namespace, name } = namesOf(service);
  const { family, ports, endpoints } = slice;
  const key = objectKey(namespace, nameOf(name, cluster, slice.key));
  return { key, cluster, ready, family, ports, endpoints };
}

/**
 * Its object. A proxy such as kube-proxy uses terminating endpoints that still serve while a Service has no ready one (KEP-1669).
 * `first`: they are ready instead, so that it leaves the Service's own terminating endpoints before they end. They have no node, zone or hints,
 * with which a proxy would choose among endpoints of this cluster. PURE.
 */
export function encodeFailoverSlice(
  slice: FailoverSlice,
  { key, uid }: Owner,
  first: boolean,
): Manifest {
  const { name } = namesOf(key);
  const conditions = first ? READY : LAST;
  const endpoints = slice.endpoints.map(({ address }) => ({ address, ...conditions }));
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      ...namesOf(slice.key),
      labels: {
        [LABEL_SERVICE_SLICE]: name,
        [LABEL_MANAGED_BY]: FAILOVER_MANAGER,
        // Programs that export Services can leave out slices of other clusters by it; commit c94108c of this one does not.
        [LABEL_SOURCE_CLUSTER]: slice.cluster,
      },
      // Without blockOwnerDeletion, which needs the right to update finalizers of Services.
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid }],
    },
    ...encodeContent({ ...slice, endpoints }),
  };
}

type Conditions = Pick<EndpointFact, "ready" | "serving" | "terminating">;

const READY: Conditions = { ready: true, serving: true, terminating: false };
const LAST: Conditions = { ready: false, serving: true, terminating: true };

/** Differs from the name of each imported slice: that of one registry slice has another hash. */
function nameOf(service: string, cluster: string, recorded: ObjectKey): string {
  const hash = createHash("sha256").update(`failover ${recorded}`).digest("hex").slice(0, 16);
  return `${service}.${cluster}.failover.${hash}`;
}
