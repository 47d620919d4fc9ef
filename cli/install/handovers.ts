import { parse, stringify } from "yaml";
import {
  ANNOTATION_ENDPOINT_CIDRS,
  LABEL_PEER,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Change, Handover, InstallObject, Token } from "./change.ts";
import type { Member } from "./members.ts";
import { INSTALL_NAMESPACE } from "./workloads.ts";

/** Namespace of the members' service accounts, on a hub. */
export const MEMBERS_NAMESPACE = "clusterset-members";
/** Annotation of a token's Secret: its service account. */
export const SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name";

/** A hub, and its URL for the members. */
export interface HubAddress {
  readonly context: string;
  readonly server: string;
}

/** All kubeconfigs that members of a clusterset have: of each other's registries, or of the hub. PURE. */
export function handoversOf(
  members: readonly Member[],
  hub: HubAddress | undefined,
  mesh: (owner: Member, reader: Member) => Handover = meshHandover,
): Handover[] {
  if (hub !== undefined) return members.map((member) => hubHandover(hub, member));
  return members.flatMap((reader) =>
    members.filter((owner) => owner !== reader).map((owner) => mesh(owner, reader)),
  );
}

/** In a mesh: how `reader` gets to read the registry of `owner`. PURE. */
export function meshHandover(owner: Member, reader: Member): Handover {
  const known = reader.facts.peers.find(({ cluster }) => cluster === owner.id);
  return {
    from: owner.context,
    namespace: registryNamespace(owner.id),
    account: reader.id,
    server: owner.server,
    to: reader.context,
    secret: peerSecretOf(owner, known?.secret),
    key: PEER_KEY,
  };
}

/** How a member gets to read and write on the hub. */
function hubHandover({ context, server }: HubAddress, { id, context: to }: Member): Handover {
  return {
    ...{ from: context, namespace: MEMBERS_NAMESPACE, account: id, server },
    ...{ to, secret: hubSecretOf(), key: HUB_KEY },
  };
}

/** A Secret that kube-controller-manager fills with a token. PURE. */
export function tokenSecret({ namespace, account, name }: Token): InstallObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, annotations: { [SERVICE_ACCOUNT_NAME]: account } },
    type: "kubernetes.io/service-account-token",
  };
}

/** Puts of a registry's service account; its token's Secret only while it has no token. PURE. */
export function putAccount(on: string, stage: number, objects: readonly InstallObject[]): Change[] {
  return objects.map((object) => ({
    ...{ on, stage, act: "put", object },
    ...(object.kind === "Secret" && { unless: "has-token" }),
  }));
}

/** What is known of a Secret with a token of a service account. */
export interface TokenSecret {
  readonly name: string;
  /** RFC 3339. */
  readonly created: string;
  /** SECRET: never logged or shown. Absent: not there yet. */
  readonly token?: string;
  /** PEM in base64. */
  readonly ca?: string;
  /** True if the API server has seen the token in use. */
  readonly used: boolean;
}

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

/** What a controller needs to reach a registry on another API server. */
export interface RegistryAccess {
  /** URL of the API server. */
  readonly server: string;
  /** PEM, in base64; absent: the CAs of Node. */
  readonly ca?: string;
  /** SECRET: never logged or shown. */
  readonly token: string;
}

/** The kubeconfig for it, with everything inline. SECRET. PURE. */
export function kubeconfigOf({ server, ca, token }: RegistryAccess): string {
  const cluster = { server, ...(ca !== undefined && { "certificate-authority-data": ca }) };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "registry",
    contexts: [{ name: "registry", context: { cluster: "registry", user: "registry" } }],
    clusters: [{ name: "registry", cluster }],
    users: [{ name: "registry", user: { token } }],
  });
}

/** The access of the only cluster and user of a kubeconfig; undefined if it has more, or other credentials. PURE. */
export function accessIn(kubeconfig: string): RegistryAccess | undefined {
  let document: unknown;
  try {
    document = parse(kubeconfig);
  } catch {
    return undefined;
  }
  const cluster = onlyOf(document, "clusters", "cluster");
  const server = textField(cluster, "server");
  const token = textField(onlyOf(document, "users", "user"), "token");
  if (server === undefined || token === undefined) return undefined;
  const ca = textField(cluster, "certificate-authority-data");
  return { server, token, ...(ca !== undefined && { ca }) };
}

/** True if two kubeconfigs have the same address and token, however they are written: a CA that was set by hand stays. PURE. */
export function isSameAccess(a: RegistryAccess, b: RegistryAccess | undefined): boolean {
  return a.server === b?.server && a.token === b.token;
}

/** The content of a key of a Secret as text; undefined if it has none. SECRET. PURE. */
export function secretText(secret: unknown, key: string): string | undefined {
  const value = fieldAt(secret, "data", key);
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}

function onlyOf(document: unknown, list: string, part: string): unknown {
  const entries = field(document, list);
  return Array.isArray(entries) && entries.length === 1 ? field(entries[0], part) : undefined;
}
