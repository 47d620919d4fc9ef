import { SECRETS } from "../../common/kubernetes/kinds.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import {
  HUB_KEY,
  hubSecretOf,
  PEER_KEY,
  peerSecretOf,
  withKubeconfig,
} from "../install/desired.ts";
import type { InstallObject } from "../install/install-object.ts";
import type { memberOf, readerOf } from "../install/manifests.ts";
import type { Member } from "../install/members.ts";
import {
  accessIn,
  isSameAccess,
  kubeconfigOf,
  type RegistryAccess,
  secretText,
} from "../install/registry-access.ts";
import { type Planned, type PlanOptions, planObject } from "./apply-objects.ts";
import type { Cluster } from "./cluster.ts";
import { type TokenSecret, tokenSecrets } from "./token-secrets.ts";

/** Namespace of the members' service accounts, on a hub. */
export const MEMBERS_NAMESPACE = "clusterset-members";

/** A kubeconfig with which one cluster reads another's registry, or its hub. */
export interface Handover {
  /** Has the registry, the service account and its tokens. */
  readonly from: Cluster;
  readonly namespace: string;
  readonly account: string;
  /** URL of its API server, for the reader. */
  readonly server: string;
  /** The reader, the Secret that it gets, without the kubeconfig, and the key for that. */
  readonly to: Cluster;
  readonly secret: InstallObject;
  readonly key: string;
}

/** A cluster with what it is in the clusterset. */
export interface OpenMember extends Member {
  readonly on: Cluster;
}

/** In a mesh: how `reader` gets to read the registry of `owner`. */
export function meshHandover(owner: OpenMember, reader: OpenMember): Handover {
  const known = reader.facts.peers.find(({ cluster }) => cluster === owner.id);
  return {
    from: owner.on,
    namespace: registryNamespace(owner.id),
    account: reader.id,
    server: owner.server,
    to: reader.on,
    secret: peerSecretOf(owner, known?.secret),
    key: PEER_KEY,
  };
}

/** How a member gets to read and write on the hub. `server`: the hub's URL for it. */
export function hubHandover(hub: Cluster, server: string, member: OpenMember): Handover {
  return {
    ...{ from: hub, namespace: MEMBERS_NAMESPACE, account: member.id, server },
    ...{ to: member.on, secret: hubSecretOf(), key: HUB_KEY },
  };
}

/** The objects of `readerOf` or `memberOf`, without the token's Secret if the account has another: a token was rotated. */
export async function accountObjects(
  { from, namespace, account }: Handover,
  objects: ReturnType<typeof readerOf | typeof memberOf>,
): Promise<InstallObject[]> {
  const names = (await tokenSecrets(from, namespace, account)).map(({ name }) => name);
  const isNeeded = (object: InstallObject) =>
    object.kind !== "Secret" || names.length === 0 || names.includes(object.metadata.name);
  return objects.filter(isNeeded);
}

/**
 * The Secret of a handover with its kubeconfig, and the action on it. Without a token, which is then created first, it has no kubeconfig.
 * Rejects with an ApiFault.
 */
export async function planHandover(handover: Handover, options: PlanOptions): Promise<Planned> {
  const { from, namespace, account, to, secret, key } = handover;
  const [tokens, live] = await Promise.all([
    tokenSecrets(from, namespace, account),
    to.objects.get(SECRETS, secret.metadata),
  ]);
  const text = secretText(live?.object, key) ?? "";
  const present = accessIn(text);
  const token =
    tokens.find((one) => one.token !== undefined && one.token === present?.token) ??
    tokens.findLast((one) => one.token !== undefined);
  if (token?.token === undefined) {
    const seen = live?.meta;
    const detail = "its token is created first";
    return { object: secret, action: seen ? "changed" : "created", detail, ...(seen && { seen }) };
  }
  const access = await accessFor(handover, { ...token, token: token.token });
  const isSame = isSameAccess(access, present);
  const object = withKubeconfig(secret, key, isSame ? text : kubeconfigOf(access));
  return planObject(to, object, options);
}

/** SECRET. */
export async function accessFor(
  { from, server }: Handover,
  { token, ca }: Pick<TokenSecret, "ca"> & { readonly token: string },
): Promise<RegistryAccess> {
  const trusted = await trustedFor(from, server, ca);
  return { server, token, ...(trusted !== undefined && { ca: trusted }) };
}

/**
 * The CA for an address of an API server: the kubeconfig's belongs to the kubeconfig's address. For others it is that which the cluster
 * gives its pods, which a cluster without `--root-ca-file` does not.
 */
export async function trustedFor(
  from: Cluster,
  server: string,
  ofPods: string | undefined,
): Promise<string | undefined> {
  const own = await from.authority();
  if (server === from.address && own.isVerified) return own.ca;
  return ofPods ?? own.ca;
}
