import { registryNamespace } from "../../controller/registry/names.ts";
import type { Change, Handover, InstallObject, Token } from "./change.ts";
import { HUB_KEY, hubSecretOf, PEER_KEY, peerSecretOf } from "./desired.ts";
import type { Member } from "./members.ts";

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
