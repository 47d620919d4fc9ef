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
  const addresses = endpoints.map(({ address }) => address);
  return { key, cluster, ready, family, ports, addresses };
}

/** Conditions of all endpoints of a slice. */
export type Conditions = Pick<EndpointFact, "ready" | "serving" | "terminating">;

/** A proxy such as kube-proxy uses them beside other ready endpoints of the Service. */
export const READY: Conditions = { ready: true, serving: true, terminating: false };
/** It uses them while the Service has no ready endpoint (KEP-1669). */
export const SERVING_TERMINATING: Conditions = { ready: false, serving: true, terminating: true };

/**
 * Its object. Endpoints have no node, zone or hints, with which a proxy would choose among endpoints of this cluster. PURE.
 */
export function encodeFailoverSlice(
  slice: FailoverSlice,
  { key, uid }: Owner,
  conditions: Conditions,
): Manifest {
  const { name } = namesOf(key);
  const endpoints = slice.addresses.map((address) => ({ address, ...conditions }));
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

/** Differs from the name of each imported slice: that of one registry slice has another hash. */
function nameOf(service: string, cluster: string, recorded: ObjectKey): string {
  const hash = createHash("sha256").update(`failover ${recorded}`).digest("hex").slice(0, 16);
  return `${service}.${cluster}.failover.${hash}`;
}
