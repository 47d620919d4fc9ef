import {
  ANNOTATION_ENDPOINT_CIDRS,
  LABEL_PEER,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import type { InstallObject } from "./change.ts";
import type { Member } from "./members.ts";
import { INSTALL_NAMESPACE } from "./workloads.ts";

/** Key of the kubeconfig in the Secret of a peer, and in the Secret of a hub. */
export const PEER_KEY = "kubeconfig";
export const HUB_KEY = "hub.kubeconfig";
/** Name of the Secret of a hub. */
export const HUB_SECRET = "hub";

/** The identity of a member. PURE. */
export function identityOf({ id, region }: Member, clusterset: string): InstallObject[] {
  return [
    property(PROPERTY_CLUSTER_ID, id),
    property(PROPERTY_CLUSTER_SET, clusterset),
    ...(region === undefined ? [] : [property(PROPERTY_REGION, region)]),
  ];
}

function property(name: string, value: string): InstallObject {
  return {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name },
    spec: { value },
  };
}

/** The Secret by which a member knows `peer`, without the kubeconfig. `name`: of the one that it has. PURE. */
export function peerSecretOf(
  { id, endpointCidrs }: Pick<Member, "id" | "endpointCidrs">,
  name: string | undefined,
): InstallObject {
  return secretOf(name ?? `peer-${id}`, {
    labels: { [LABEL_PEER]: id },
    annotations: { [ANNOTATION_ENDPOINT_CIDRS]: endpointCidrs },
  });
}

/** The Secret by which a member reaches its hub, without the kubeconfig. PURE. */
export function hubSecretOf(): InstallObject {
  return secretOf(HUB_SECRET, {});
}

function secretOf(
  name: string,
  more: Pick<InstallObject["metadata"], "labels" | "annotations">,
): InstallObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: INSTALL_NAMESPACE, name, ...more },
  };
}

/** A Secret with its kubeconfig. SECRET. PURE. */
export function withKubeconfig(secret: InstallObject, key: string, text: string): InstallObject {
  return { ...secret, data: { [key]: Buffer.from(text).toString("base64") } };
}
