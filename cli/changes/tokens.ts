import { fieldAt, textField } from "../../api/parse/fields.ts";
import { queryOf, SECRETS } from "../../common/kubernetes/kinds.ts";
import { trustedFor } from "../clusters/api-address.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { until } from "../clusters/until.ts";
import type { HandOver, InstallObject } from "../install/change.ts";
import {
  accessIn,
  isSameAccess,
  kubeconfigOf,
  SERVICE_ACCOUNT_NAME,
  secretText,
  type TokenSecret,
  withKubeconfig,
} from "../install/handovers.ts";

/** kube-controller-manager fills a Secret a moment after it was made. */
const TOKEN_MS = 60_000;
/** Label that the API server sets when the token is used first (Kubernetes 1.27), with the day. */
const LAST_USED = "kubernetes.io/legacy-token-last-used";

/** A Secret whose token is there. */
export type FilledToken = TokenSecret & { readonly token: string };

/** The token Secrets of a service account, oldest first; none if the namespace does not exist. Rejects with an ApiFault. */
export async function tokenSecrets(
  on: Cluster,
  namespace: string,
  account: string,
): Promise<TokenSecret[]> {
  const fieldSelector = "type=kubernetes.io/service-account-token";
  const found = await on.list(queryOf(SECRETS, { namespace, fieldSelector }));
  return found
    .filter((one) => fieldAt(one, "metadata", "annotations", SERVICE_ACCOUNT_NAME) === account)
    .map(tokenSecretOf)
    .sort((a, b) => (a.created < b.created ? -1 : 1));
}

function tokenSecretOf(secret: unknown): TokenSecret {
  const metadata = fieldAt(secret, "metadata");
  const token = secretText(secret, "token");
  const ca = fieldAt(secret, "data", "ca.crt");
  return {
    name: textField(metadata, "name") ?? "",
    created: textField(metadata, "creationTimestamp") ?? "",
    used: fieldAt(metadata, "labels", LAST_USED) !== undefined,
    ...(token !== undefined && { token }),
    // Empty without --root-ca-file of kube-controller-manager.
    ...(typeof ca === "string" && ca !== "" && { ca }),
  };
}

/** The newest token of a service account, once there is one. `name`: of this Secret. Rejects with an ApiFault. */
export function untilToken(
  on: Cluster,
  { namespace, account, name }: { namespace: string; account: string; name?: string },
  signal: AbortSignal,
): Promise<FilledToken> {
  return until(TOKEN_MS, signal, async () => {
    const secrets = await tokenSecrets(on, namespace, account);
    const found = secrets.findLast((one) => isFilled(one) && one.name === (name ?? one.name));
    if (found !== undefined && isFilled(found)) return { found };
    return {
      missing: `${on.context}: no Secret in ${namespace} has a token for service account ${account}; kube-controller-manager fills it`,
    };
  });
}

function isFilled(secret: TokenSecret): secret is FilledToken {
  return secret.token !== undefined;
}

/** True for the Secret of a token whose service account has another one: the first was rotated. Rejects with an ApiFault. */
export async function isRotated(on: Cluster, { metadata }: InstallObject): Promise<boolean> {
  const { namespace = "", name, annotations = {} } = metadata;
  const account = annotations[SERVICE_ACCOUNT_NAME] ?? "";
  const names = (await tokenSecrets(on, namespace, account)).map((one) => one.name);
  return names.length > 0 && !names.includes(name);
}

/**
 * The Secret of a handover with its kubeconfig; undefined while there is no token. An equal kubeconfig stays as it is written. With a
 * token that the change names, address and CA stay, because a user may have set them. SECRET. Rejects with an ApiFault.
 */
export async function handoverSecret(
  from: Cluster,
  to: Cluster,
  { handover, token: name }: HandOver,
): Promise<InstallObject | undefined> {
  const { namespace, account, secret, key, server } = handover;
  const [tokens, live] = await Promise.all([
    tokenSecrets(from, namespace, account),
    to.objects.get(SECRETS, secret.metadata),
  ]);
  const text = secretText(live?.object, key) ?? "";
  const present = accessIn(text);
  const filled = tokens.filter(isFilled);
  const chosen =
    name === undefined
      ? (filled.find(({ token }) => token === present?.token) ?? filled.at(-1))
      : filled.find((one) => one.name === name);
  if (chosen === undefined) return undefined;
  const { token } = chosen;
  const ca = await trustedFor(from, server, chosen.ca);
  const access =
    name !== undefined && present !== undefined
      ? { ...present, token }
      : { server, token, ...(ca !== undefined && { ca }) };
  const kubeconfig = isSameAccess(access, present) ? text : kubeconfigOf(access);
  return withKubeconfig(secret, key, kubeconfig);
}
