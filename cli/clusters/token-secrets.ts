import { fieldAt, textField } from "../../api/parse/fields.ts";
import { queryOf, SECRETS } from "../../common/kubernetes/kinds.ts";
import { secretText } from "../install/registry-access.ts";
import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

/** kube-controller-manager fills it a moment after it was made. */
const TOKEN_MS = 60_000;
/** Annotation of the Secret: its service account. */
export const SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name";
/** Label that the API server sets when the token is used first (Kubernetes 1.27), with the day. */
const LAST_USED = "kubernetes.io/legacy-token-last-used";

/** A Secret with a token of a service account. */
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

/** The newest token of a service account, once there is one. `name`: of this Secret. Rejects with an ApiFault. */
export function untilToken(
  on: Cluster,
  namespace: string,
  account: string,
  signal: AbortSignal,
  name?: string,
): Promise<TokenSecret & { readonly token: string }> {
  return until(TOKEN_MS, signal, async () => {
    const secrets = await tokenSecrets(on, namespace, account);
    const found = secrets.findLast(
      (one) => one.token !== undefined && one.name === (name ?? one.name),
    );
    if (found?.token !== undefined) return { found: { ...found, token: found.token } };
    return {
      missing: `${on.context}: no Secret in ${namespace} has a token for service account ${account}; kube-controller-manager fills it`,
    };
  });
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
