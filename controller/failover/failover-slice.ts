import { createHash } from "node:crypto";
import {
  DISCOVERY_V1,
  FAILOVER_MANAGER,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_SLICE,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { encodeContent } from "../model/encode-service.ts";
import type { EndpointFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { RemoteSlice } from "./nearest-remote.ts";

/** The Service that owns failover slices. */
export interface Owner {
  readonly key: ObjectKey;
  readonly uid: string;
}

/**
 * A failover slice. Its endpoints are terminating ones that still serve: kube-proxy uses those of a Service if none is ready (KEP-1669). They
 * have no node, zone or hints, with which a proxy would choose among endpoints of this cluster. PURE.
 */
export function failoverSlice(
  { key, uid }: Owner,
  { cluster, slice }: Pick<RemoteSlice, "cluster" | "slice">,
): Manifest {
  const { namespace, name } = namesOf(key);
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      name: nameOf(name, cluster, slice.key),
      namespace,
      labels: {
        [LABEL_SERVICE_SLICE]: name,
        [LABEL_MANAGED_BY]: FAILOVER_MANAGER,
        // Programs that export Services can leave out slices of other clusters by it; commit c94108c of this one does not.
        [LABEL_SOURCE_CLUSTER]: cluster,
      },
      // Without blockOwnerDeletion, which needs the right to update finalizers of Services.
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid }],
    },
    ...encodeContent({ ...slice, endpoints: slice.endpoints.map(terminating) }),
  };
}

function terminating({ address }: EndpointFact): EndpointFact {
  return { address, ready: false, serving: true, terminating: true };
}

/** Differs from the name of each imported slice: that of one registry slice has another hash. */
function nameOf(service: string, cluster: string, recorded: ObjectKey): string {
  const hash = createHash("sha256").update(`failover ${recorded}`).digest("hex").slice(0, 16);
  return `${service}.${cluster}.failover.${hash}`;
}
